// An edit of Relay text: its damage, tree-sitter's tree, places, then the statements that it affects; else all of it.
#include <set>

#include "frontend/cst/parser.h"
#include "frontend/index/index_tree.h"
#include "frontend/joined_edits.h"
#include "frontend/relay/memo.h"
#include "frontend/relay/prelude.h"
#include "frontend/relay/reader.h"
#include "frontend/relay/units.h"
#include "frontend/text.h"
#include "rldb/frontend/relay_document.h"

namespace rldb::frontend {

namespace {

using cst::Field;
using cst::Kind;
using cst::Node;

bool splits_character(std::string_view text, std::uint32_t offset) {
  return offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80;
}

cst::TreeOptions relay_tree_options() {
  cst::TreeOptions t;
  t.grammar = cst::Grammar::Relay;
  return t;
}

}  // namespace

struct RelayDocument::State {
  source::SourceManager& sources;
  source::FileId file;
  source::FileId prelude;  // its text, once it was needed
  RelayOptions options;

  cst::LiveTree live{cst::Grammar::Relay};
  relay_text::TextDamage damage;
  bool knows_damage = false;
  // The last reading is that of `read_text`, or of the present text when that is null.
  bool divided = false;  // and its statements are remembered
  std::unique_ptr<source::Buffer> read_text;
  TextEdit refused;  // from that text to the present one

  std::shared_ptr<relay::Context> ctx;
  source::Diagnostics found;  // of the reading in progress; the reader writes here
  std::unique_ptr<relay_text::Reader> reader;
  relay_text::RelayMemo memo;
  std::uint32_t whole_count = 0;  // of the nodes of the last whole reading

  RelayResult result;
  source::Diagnostics diagnostics;
  ReadScope scope;  // of this edit, and of those before it in the same update
  std::set<std::size_t> read_functions;

  State(source::SourceManager& s, source::FileId f) : sources(s), file(f) {}
  const source::Buffer& buffer() const { return sources.get(file); }

  template <class Reading>
  void all_or_nothing(Reading&& reading) {
    try {
      reading();
    } catch (...) {
      forget();
      throw;
    }
  }
  void forget() {
    divided = false;
    knows_damage = false;
    read_text.reset();
    reader.reset();
    result = {};
    diagnostics.clear();
  }

  void begin_scope() {
    scope = {false, 0, 0};
    read_functions.clear();
  }
  void read_all();
  bool replace(std::uint32_t begin, std::uint32_t end, std::string_view text);
  void follow(const TextEdit& step, std::unique_ptr<source::Buffer> before);
  bool read_part(const TextEdit& edit);
  void move_places(const TextEdit& edit);
  bool has_other_parts(Node tree) const;
};

// ---- the whole text ----

void RelayDocument::State::read_all() {
  divided = false;
  knows_damage = false;
  scope.whole = true;
  read_text.reset();
  reader.reset();
  memo = relay_text::RelayMemo();
  result = {};
  diagnostics.clear();
  found.clear();
  ctx = std::make_shared<relay::Context>();
  source::Diagnostics problems;
  if (!check_relay_text(buffer(), file, problems)) {
    add_in_order(problems, diagnostics);
    return;
  }
  if (report_old_relay(buffer().text(), file, diagnostics)) return;
  live.reset(buffer().text());
  const cst::Tree tree = live.copy(file, relay_tree_options());
  if (!relay_text::report_damage(tree, found)) return add_in_order(found, diagnostics);
  reader = std::make_unique<relay_text::Reader>(*ctx, found, options);
  result = reader->read(tree, &memo);
  if (found.has_errors()) result.module = nullptr;
  if (!result.module && may_need_prelude(buffer().text(), found)) {
    reader.reset();
    ctx = std::make_shared<relay::Context>();
    result = parse_relay_program(*ctx, sources, file, diagnostics, prelude);
    return;
  }
  add_in_order(found, diagnostics);
  whole_count = ctx->expr_count();
  damage.find_none(buffer().text());
  knows_damage = true;
  divided = !has_other_parts(Node(&tree, 0)) && reader->is_divisible() && !memo.abandoned() &&
            found.all().size() < source::Diagnostics::kMaxDiagnostics;
}

// Whether something beside functions has a diagnostic, or there is an expression beside them.
bool RelayDocument::State::has_other_parts(Node tree) const {
  if (tree.child(Field::Body) || memo.functions().empty()) return true;
  for (const Node n : tree.children())
    if (n.is(Kind::TypeDefinition) || n.is(Kind::Metadata))
      for (const source::Diagnostic& d : found.all())
        if (d.span.begin >= n.row().begin && d.span.begin < n.row().end) return true;
  return false;
}

// ---- a part of it ----

// The text has changed. A damaged one is not read: the next sound one is treated as an edit of the last sound one.
void RelayDocument::State::follow(const TextEdit& step, std::unique_ptr<source::Buffer> before) {
  source::Diagnostics problems;
  const bool readable =
      check_relay_text(buffer(), file, problems) && !report_old_relay(buffer().text(), file, problems);
  if (readable) damage.find(buffer().text(), knows_damage ? &step : nullptr);
  if (!readable || damage.any()) {
    refused = read_text ? joined(refused, step) : step;
    if (!read_text) read_text = std::move(before);
    result = {};
    diagnostics.clear();
    knows_damage = readable;
    if (readable) damage.report(file, problems);
    return add_in_order(problems, diagnostics);
  }
  const TextEdit edit = read_text ? joined(refused, step) : step;
  if (!divided || !read_part(edit)) read_all();
  read_text.reset();
}

// Places are kept by id.
void RelayDocument::State::move_places(const TextEdit& edit) {
  relay::Expr any{relay::ExprKind::Var};
  for (any.id = 1; any.id < ctx->expr_count(); ++any.id)
    if (const source::Span at = ctx->span(&any); at.file == file)
      ctx->set_span(&any, {file, edit.moved(at.begin), edit.moved(at.end)});
}

bool RelayDocument::State::read_part(const TextEdit& edit) {
  // Nodes left over by edits are freed by a whole reading.
  constexpr std::uint32_t kSlack = 300000;
  if (ctx->expr_count() > 4 * whole_count + kSlack || !memo.function_at(edit)) return false;
  const std::size_t functions = memo.functions().size();
  live.edit({edit.begin, edit.old_end, edit.new_end}, buffer().text());
  if (live.has_error()) return false;
  memo.apply(edit);
  move_places(edit);
  memo.reload = [this](Kind kind, std::uint32_t begin) {
    return live.copy_node(file, kind, begin, relay_tree_options());
  };
  cst::TreeOptions copying = relay_tree_options();
  copying.known = &memo;
  const cst::Tree tree = live.copy(file, copying);
  std::size_t count = 0;
  for (const Node n : Node(&tree, 0).children()) {
    if (n.is(Kind::TooDeep)) return false;
    count += n.is(Kind::FunctionDefinition) ? 1 : 0;
  }
  if (count != functions) return false;
  found.clear();
  if (!relay_text::report_damage(tree, found)) return false;  // only its depth is new
  result = reader->read_again(tree);
  if (memo.abandoned() || !reader->is_divisible() || has_other_parts(Node(&tree, 0)) ||
      found.all().size() >= source::Diagnostics::kMaxDiagnostics)
    return false;
  if (found.has_errors()) result.module = nullptr;
  if (!result.module && may_need_prelude(buffer().text(), found)) return false;
  diagnostics.clear();
  add_in_order(found, diagnostics);
  scope.statements += memo.read_count();
  read_functions.insert(memo.read_functions().begin(), memo.read_functions().end());
  scope.functions = read_functions.size();
  return true;
}

// ---- the interface ----

RelayDocument::RelayDocument(source::SourceManager& sources, std::string name, std::string text)
    : state_(std::make_unique<State>(sources, sources.add(std::move(name), std::move(text)))) {
  state_->read_all();
}

RelayDocument::~RelayDocument() = default;

bool RelayDocument::edit(std::uint32_t begin, std::uint32_t end, std::string_view text) {
  state_->begin_scope();
  return state_->replace(begin, end, text);
}

bool RelayDocument::State::replace(std::uint32_t begin, std::uint32_t end, std::string_view text) {
  const std::string_view old = buffer().text();
  if (begin > end || end > old.size() || splits_character(old, begin) || splits_character(old, end)) return false;
  const std::size_t size = old.size() - (end - begin) + text.size();
  if (size > source::kMaxBytes) return false;
  std::string fresh;
  fresh.reserve(size);
  fresh.append(old.substr(0, begin)).append(text).append(old.substr(end));
  const TextEdit step{begin, end, static_cast<std::uint32_t>(begin + text.size())};
  all_or_nothing([&] { follow(step, sources.replace(file, std::move(fresh))); });
  return true;
}

void RelayDocument::update(std::string_view text) {
  const std::string before(this->text());
  const std::vector<TextReplacement> edits = edits_between(before, text);
  state_->begin_scope();
  for (std::size_t i = edits.size(); i-- > 0;) state_->replace(edits[i].begin, edits[i].end, edits[i].text);
}

source::FileId RelayDocument::file() const { return state_->file; }
std::string_view RelayDocument::text() const { return state_->buffer().text(); }
const RelayResult& RelayDocument::result() const { return state_->result; }
const source::Diagnostics& RelayDocument::diagnostics() const { return state_->diagnostics; }
std::shared_ptr<relay::Context> RelayDocument::context() const { return state_->ctx; }
ReadScope RelayDocument::last_read() const { return state_->scope; }

TextIndex RelayDocument::index() const {
  const State& s = *state_;
  if (!s.divided || s.read_text) return TextIndex::of_relay(text());
  cst::Tree tree = s.live.copy(s.file, relay_tree_options());
  return relay_index_of({std::move(tree), {}});
}

}  // namespace rldb::frontend
