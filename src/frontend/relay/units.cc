// A scan by characters, and the errors of its pieces.
#include "frontend/relay/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/cst/parser.h"
#include "frontend/joined_edits.h"
#include "frontend/relay/reader.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::relay_text {

namespace {

constexpr std::string_view kMetadata = "#[metadata]";

bool is_relay_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/';
}

class UnitScan {
 public:
  explicit UnitScan(std::string_view text) : text_(text) {}

  UnitsFound run() {
    while (at_ < text_.size() && !found_.open) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (c == '/') {
        skip_comment();
      } else if (c == '(' || c == '[' || c == '{') {
        open(c);
      } else if (c == ')' || c == ']' || c == '}') {
        close(c);
      } else if (c == ';') {
        if (in_unit_ && open_.size() == 1) end_unit(), unit_begin_ = at_ + 1;
        ++at_;
      } else if (c == '#' && text_.substr(at_).starts_with(kMetadata)) {
        found_.metadata = at_;
        break;
      } else if (c == '%' || c == '@') {
        skip_name();
      } else if (is_relay_word(c)) {
        skip_word();
      } else {
        ++at_;
      }
    }
    if (!found_.open && !open_.empty())
      report(open_.front().at, 1, source::message(diag::NeverClosed, std::string(1, open_.front().bracket)));
    end_header(at_);
    return std::move(found_);
  }

 private:
  struct Open {
    char bracket;
    std::size_t at;
  };

  void open(char c) {
    open_.push_back({c, at_++});
    if (open_.size() > 1 || c != '{' || !in_function_) return;
    header_.reset();
    in_unit_ = true;
    unit_begin_ = at_;
  }
  void close(char c) {
    const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open_.empty() && c == '}' && header_ && header_->parameters_end != 0) return report_unopened_body();
    if (open_.empty()) return report(at_, 1, source::message(diag::NeverOpened, std::string(1, c)));
    if (open_.back().bracket != wanted)
      return report(at_, 1,
                    source::message(diag::WrongCloser, std::string(1, c), std::string(1, open_.back().bracket)));
    open_.pop_back();
    if (in_unit_ && open_.empty()) {
      end_unit();
      in_unit_ = false;
    }
    ++at_;
    if (c == ')' && open_.empty() && header_ && header_->parameters_end == 0) header_->parameters_end = offset(at_);
  }
  // At the end of the header's line.
  void report_unopened_body() {
    const std::size_t line_end = std::min(text_.find('\n', header_->parameters_end), at_);
    const std::size_t last = text_.find_last_not_of(" \t\r\n", line_end - 1);
    const std::string name(text_.substr(header_->name_begin, header_->name_end - header_->name_begin));
    report(last, 1, source::message(diag::RelayMissing, fmt::format("the `{{` before the body of `{}`", name)));
  }
  void end_unit() { found_.units.push_back({offset(unit_begin_), offset(at_), {}}); }

  void skip_string() {
    const std::size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) return report(at_, 1, source::message(diag::RelayOpenString));
    at_ = end + 1;
  }
  void skip_comment() {
    if (text_.substr(at_).starts_with("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_.substr(at_).starts_with("/*")) {
      skip_long_comment();
    } else {
      ++at_;
    }
  }
  void skip_long_comment() {
    const std::size_t end = end_of_comment(text_, at_);
    if (end == std::string_view::npos) return report(at_, 2, source::message(diag::RelayOpenComment));
    at_ = end;
  }
  // `@name` behind `def` begins a header.
  void skip_name() {
    const std::size_t begin = at_++;
    if (at_ < text_.size() && (text_[at_] == '/' || is_relay_word(text_[at_]))) skip_word();
    if (!header_ || header_->name_end != 0) return;
    header_->name_begin = offset(begin);
    header_->name_end = offset(at_);
  }
  void end_header(std::size_t at) {
    if (header_ && header_->name_end != 0) {
      header_->end = offset(at);
      found_.bodiless.push_back(*header_);
    }
    header_.reset();
  }
  // A slash within a word is a part of it; `meta[...][...]` is one token.
  void skip_word() {
    const std::size_t begin = at_;
    const bool number = text_[begin] >= '0' && text_[begin] <= '9';  // a slash behind one begins a comment
    while (at_ < text_.size() && is_relay_word(text_[at_]) && !(number && text_[at_] == '/')) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (open_.empty() && (word == "def" || word == "type" || word == "extern")) {
      end_header(begin);
      in_function_ = word == "def";
      if (in_function_) header_ = Bodiless{offset(begin)};
    }
    if (word == "meta" && at_ < text_.size() && text_[at_] == '[') {
      const std::size_t end = text_.find_first_of("]\n", at_);
      if (end != std::string_view::npos && text_.substr(end).starts_with("][")) at_ = end + 1;
      if (text_[at_] == '[' && at_ == end + 1) at_ = std::min(text_.find(']', at_), text_.size() - 1) + 1;
    }
  }

  void report(std::size_t at, std::uint32_t width, source::Message m) {
    const auto begin = static_cast<std::uint32_t>(at);
    found_.open = source::at({{}, begin, begin + width}, std::move(m));
  }

  std::string_view text_;
  static std::uint32_t offset(std::size_t at) { return static_cast<std::uint32_t>(at); }

  UnitsFound found_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  bool in_function_ = false;
  bool in_unit_ = false;
  std::size_t unit_begin_ = 0;
  std::optional<Bodiless> header_;  // of a function whose body has not begun; without a name, if that has not either
};

std::vector<source::Diagnostic> errors_of(std::string_view text) {
  cst::TreeOptions options;
  options.grammar = cst::Grammar::Relay;
  const cst::Tree tree = cst::parse_tree({}, text, options);
  source::Diagnostics found;
  report_errors(tree, found);
  return found.all();
}

// Between two other statements, so that it is one itself.
std::vector<source::Diagnostic> errors_of_unit(std::string_view text, const Unit& unit) {
  const bool last = text[unit.end] == '}';
  const std::string_view inside = text.substr(unit.begin, unit.end - unit.begin);
  if (last && inside.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  constexpr std::string_view kBefore = "0;";
  std::string alone(kBefore);
  alone += inside;
  alone += last ? "\n" : ";0";
  std::vector<source::Diagnostic> errors = errors_of(alone);
  const auto size = static_cast<std::uint32_t>(inside.size());
  for (source::Diagnostic& d : errors) {
    const auto moved = [&](std::uint32_t at, std::uint32_t most) {
      return std::min(at - std::min(at, std::uint32_t(kBefore.size())), most);
    };
    d.span.begin = moved(d.span.begin, size);
    d.span.end = std::max(moved(d.span.end, size + 1), d.span.begin);
  }
  return errors;
}

}  // namespace

std::size_t end_of_comment(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t at = begin; at + 1 < text.size();) {
    const std::string_view two = text.substr(at, 2);
    at += two == "/*" || two == "*/" ? 2 : 1;
    depth += two == "/*" ? 1 : two == "*/" ? -1 : 0;
    if (depth == 0) return at;
  }
  return std::string_view::npos;
}

UnitsFound find_units(std::string_view text) { return UnitScan(text).run(); }

void TextDamage::find(std::string_view text, const TextEdit* edit) {
  text_ = text;
  const bool knows = edit && has_units_;
  if (knows && since_) edit = &(since_ = joined(*since_, *edit)).value();
  UnitsFound found = find_units(text);
  open_ = std::move(found.open);
  if (open_) {
    // The units of the text before are those that the next one is compared with.
    if (knows && !since_) since_ = *edit;
    has_units_ = knows;
    return;
  }
  const std::vector<Unit> before = std::exchange(units_, std::move(found.units));
  bodiless_ = std::move(found.bodiless);
  metadata_ = found.metadata;
  damaged_units_ = 0;
  std::size_t next = 0;
  for (Unit& unit : units_) {
    support::poll();
    while (knows && next < before.size() && edit->moved(before[next].begin) < unit.begin) ++next;
    const Unit* old = knows && next < before.size() ? &before[next] : nullptr;
    // An edit that touches the ends of a unit changes it.
    const bool same = old && (old->end < edit->begin || old->begin > edit->old_end) &&
                      edit->moved(old->begin) == unit.begin && edit->moved(old->end) == unit.end;
    unit.errors = same ? before[next].errors : errors_of_unit(text, unit);
    damaged_units_ += unit.errors.empty() ? 0 : 1;
  }
  has_units_ = true;
  since_.reset();
  const std::string rest = std::exchange(rest_, {});
  divide_rest();
  if (rest != rest_) rest_errors_ = errors_of(rest_);
}

void TextDamage::find_none(std::string_view text) {
  text_ = text;
  UnitsFound found = find_units(text);
  open_ = std::move(found.open);
  units_ = std::move(found.units);
  bodiless_ = std::move(found.bodiless);
  metadata_ = found.metadata;
  since_.reset();
  damaged_units_ = 0;
  rest_errors_.clear();
  has_units_ = !open_;
  if (!open_) divide_rest();
}

// In the place of the units of a body stands a number, and so it does where a body is missing.
void TextDamage::divide_rest() {
  std::string& rest = rest_;
  rest.clear();
  pieces_.clear();
  std::size_t next = 0;  // of `bodiless_`
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    for (; next < bodiless_.size() && bodiless_[next].end <= to; ++next) {
      pieces_.push_back({static_cast<std::uint32_t>(rest.size()), from});
      // Behind the parameters is a type, or a body whose `{` is missing.
      const std::uint32_t header = bodiless_[next].parameters_end;
      rest += text_.substr(from, (header != 0 ? header : bodiless_[next].end) - from);
      rest += " { 0 }\n";
      from = bodiless_[next].end;
    }
    pieces_.push_back({static_cast<std::uint32_t>(rest.size()), from});
    rest += text_.substr(from, to - from);
  };
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const std::uint32_t begin = units_[i].begin;
    while (i + 1 < units_.size() && text_[units_[i].end] == ';') ++i;
    add(at, begin);
    const std::string_view body = text_.substr(begin, units_[i].end - begin);
    if (body.find_first_not_of(" \t\r\n") != std::string_view::npos) rest += " 0 ";
    at = units_[i].end;
  }
  add(at, static_cast<std::uint32_t>(std::min(metadata_, text_.size())));
  // The metadata is one token, which is read elsewhere.
  if (metadata_ != std::string_view::npos) rest += kMetadata;
}

std::uint32_t TextDamage::in_text(std::uint32_t offset) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                                      [](std::uint32_t o, const Piece& p) { return o < p.at; });
  const Piece& piece = *std::prev(after);
  const std::uint32_t at = piece.from + (offset - piece.at);
  return std::min(at, static_cast<std::uint32_t>(text_.size()));
}

void TextDamage::report_rest(source::FileId file, std::vector<source::Diagnostic>& all) const {
  for (const Bodiless& b : bodiless_)
    all.push_back(
        source::at({file, b.name_begin, b.name_end},
                   source::message(diag::RelayNoBody, text_.substr(b.name_begin, b.name_end - b.name_begin))));
  for (source::Diagnostic d : rest_errors_) {
    d.span = {file, in_text(d.span.begin), in_text(d.span.end)};
    all.push_back(std::move(d));
  }
}

bool TextDamage::report(source::FileId file, source::Diagnostics& out) const {
  std::vector<source::Diagnostic> all;
  if (open_) {
    all.push_back(*open_);
  } else {
    report_rest(file, all);
    for (const Unit& unit : units_)
      for (source::Diagnostic d : unit.errors) {
        d.span = {file, unit.begin + d.span.begin, unit.begin + d.span.end};
        all.push_back(std::move(d));
      }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  std::size_t last_line = std::string_view::npos - 1;
  for (source::Diagnostic& d : all) {
    const std::size_t line = text_.substr(0, d.span.begin).rfind('\n');
    if (line == last_line) continue;  // an echo of the mistake before it
    last_line = line;
    d.span.file = file;
    out.add(std::move(d));
  }
  return !all.empty();
}

}  // namespace rldb::frontend::relay_text
