// Texts that are open, and what is known about them.
#include "protocol/lsp/text_file.h"

#include <algorithm>

#include "protocol/lsp/params.h"
#include "protocol/lsp/relay_file.h"
#include "rldb/frontend/relay.h"

namespace rldb::protocol::lsp {

using frontend::TextRange;

namespace {

TextFile::Language language_of(std::string_view id, std::string_view path, std::string_view text) {
  if (id == "relay") return TextFile::Language::Relay;
  if (id == "tvmscript") return TextFile::Language::TvmScript;
  return frontend::is_relay(path, text) ? TextFile::Language::Relay : TextFile::Language::Python;
}

// Where TVMScript begins in a text that is too damaged to tell its end.
std::optional<std::uint32_t> script_begin(std::string_view text) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view decorator : {"@I.ir_module", "@R.function", "@T.prim_func", "@tvm.script.ir_module"})
    first = std::min(first, text.find(decorator));
  if (first == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(first);
}

}  // namespace

TextFile::TextFile(std::string uri, std::string_view language_id, std::int64_t number, std::string text)
    : version(number), uri_(std::move(uri)), language_(language_of(language_id, path_of_uri(uri_), text)) {
  if (is_relay()) {
    relay_ = std::make_unique<RelayFile>(path_of_uri(uri_), std::move(text));
    return;
  }
  document_ = std::make_unique<frontend::Document>(sources_, path_of_uri(uri_), std::move(text));
  types_.follow(*document_);
  refresh_regions();
}

TextFile::~TextFile() = default;

const source::Buffer& TextFile::buffer() const {
  return is_relay() ? relay_->buffer() : sources_.get(document_->file());
}

source::FileId TextFile::file() const { return is_relay() ? relay_->file() : document_->file(); }

bool TextFile::edit(source::LineColumn begin, source::LineColumn end, std::string_view text, source::ColumnUnit unit) {
  const std::uint32_t from = buffer().offset(begin, unit), to = buffer().offset(end, unit);
  if (from > to) return false;
  const frontend::TextEdit step{from, to, static_cast<std::uint32_t>(from + text.size())};
  struct Note {  // also after a reading that was abandoned: the text is the new one
    TextFile& file;
    const frontend::TextEdit& step;
    bool good = true;
    ~Note() {
      if (good) file.changed(step);
    }
  } note{*this, step};
  note.good = is_relay() ? relay_->edit(from, to, text) : document_->edit(from, to, text);
  return note.good;
}

void TextFile::replace(std::string text) {
  // A client that sends whole texts: only what differs is read again.
  ++generation_;
  since_index_.clear();
  index_generation_.reset();
  if (last_run) last_run->was_edited = true;
  if (last_run) last_run->values.clear();  // where these are now is not known
  if (is_relay()) return relay_->replace(text);
  document_->update(text);
  types_.follow(*document_);
  refresh_regions();
}

void TextFile::changed(const frontend::TextEdit& edit) {
  constexpr std::size_t kMostSteps = 256;
  const bool follows = index_is_fresh() && !is_relay() && index_.follow(edit, text());
  ++generation_;
  if (follows)
    index_generation_ = generation_;
  else
    since_index_.push_back(edit);
  if (since_index_.size() > kMostSteps) {
    since_index_.clear();
    index_generation_.reset();
  }
  for (TextRange& r : regions_) {
    const bool at_end = edit.begin <= r.end && edit.old_end >= r.end;
    r = {edit.moved(r.begin), at_end ? edit.new_end : edit.moved(r.end)};
  }
  for (PipelineFinding& f : pipeline.findings) f.at = {edit.moved(f.at.begin), edit.moved(f.at.end)};
  if (last_run) last_run->was_edited = true;
  if (last_run)
    for (LastRun::NamedValue& v : last_run->values) v.at = edit.moved(v.at);
  if (!is_relay()) types_.follow(*document_);
}

bool TextFile::index_is_fresh() const { return index_generation_ == generation_; }

const frontend::TextIndex& TextFile::index() {
  if (index_is_fresh()) return index_;
  index_ = is_relay() ? relay_->index() : document_->index();
  index_generation_ = generation_;
  since_index_.clear();
  // Damage may hide a module or a function: what was one stays one until the text can be read.
  if (is_relay()) return index_;
  if (document_->result().ok || index_.regions().size() >= regions_.size() || regions_.empty())
    regions_ = index_.regions();
  return index_;
}

const frontend::TextIndex& TextFile::recent_index(std::uint32_t& offset) {
  if (!index_generation_ || index_is_fresh()) return index();
  for (auto step = since_index_.rbegin(); step != since_index_.rend(); ++step) {
    if (offset >= step->new_end)
      offset = static_cast<std::uint32_t>(offset - step->delta());
    else if (offset > step->begin)
      offset = std::min(offset, step->old_end);
  }
  return index_;
}

Types& TextFile::types() { return types_; }

void TextFile::refresh_regions() {
  (void)index();
  if (!regions_.empty()) return;
  if (document_->diagnostics().has_errors())
    if (const auto begin = script_begin(text()))
      regions_.push_back({*begin, static_cast<std::uint32_t>(text().size())});
}

bool TextFile::is_script(std::uint32_t offset) {
  if (language_ != Language::Python) return true;
  const auto inside = [&] {
    return std::any_of(regions_.begin(), regions_.end(), [&](const TextRange& r) { return r.touches(offset); });
  };
  if (inside()) return true;
  if (index_is_fresh()) return false;
  refresh_regions();
  return inside();
}

std::vector<source::Diagnostic> TextFile::diagnostics() {
  if (is_relay()) return relay_->diagnostics().all();
  std::vector<source::Diagnostic> out;
  const bool all = language_ == Language::TvmScript;
  for (const source::Diagnostic& d : document_->diagnostics().all()) {
    const bool whole = d.span && d.span.file == file() && d.span.begin == 0 && d.span.end >= text().size();
    if (all || (d.span && !whole && is_script(d.span.begin)) || (whole && !regions_.empty())) out.push_back(d);
  }
  return out;
}

}  // namespace rldb::protocol::lsp
