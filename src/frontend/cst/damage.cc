// Syntax errors: walks the damaged parts of a tree and words one report per place.
#include "frontend/cst/damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "frontend/cst/header.h"
#include "frontend/cst/scan.h"
#include "frontend/cst/statements.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/python_keyword.h"

namespace rldb::frontend::cst {

namespace {

class Reporter {
 public:
  Reporter(const Tree& tree, source::Diagnostics& out) : tree_(tree), out_(out) {}

  bool run() {
    if (tree_.rows.empty()) return false;
    // Rows are in pre-order: a linear pass, skipping what a report has covered.
    const std::uint32_t count = static_cast<std::uint32_t>(tree_.rows.size());
    std::uint32_t opaque_end = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const NodeRow& row = tree_.rows[i];
      // The body of a Python function is kept as text and not checked.
      if (row.kind == Kind::PythonFunction && !row.damaged) opaque_end = std::max(opaque_end, row.next);
      if (i < opaque_end) continue;
      if (row.damaged) note_unread(Node(&tree_, i));
      if (row.kind == Kind::Block) unread_.clear();
      if (visit(Node(&tree_, i))) i = std::max(i, row.next - 1);
    }
    return reported_;
  }

 private:
  // A Relax function with a damaged header is not read, nor a kernel with one anywhere inside.
  void note_unread(Node n) {
    if (n.is(Kind::PrimFunc) && holds_damaged_header(n)) kernel_ = n;
    const bool in_kernel = kernel_ && n.index() < kernel_.row().next;
    const bool compound = bool(n.child(Field::Body)) || bool(n.child(Field::Consequence));
    if ((!in_kernel && !n.is(Kind::RelaxFunction)) || !compound || !has_damaged_header(n)) return;
    unread_ = std::string((in_kernel ? kernel_ : n).child(Field::Name).text());
  }
  // True when the node's inside is covered by that report.
  bool visit(Node n) {
    if (n.is(Kind::Error)) return report_error(n), true;
    if (n.is(Kind::Missing)) return report_missing(n), true;
    if (n.is(Kind::TooDeep)) {
      // Thousands of siblings may be cut off at the same level: one report is enough.
      if (!too_deep_) say(n.span(), source::message(diag::NestedTooDeepText));
      too_deep_ = true;
      reported_ = true;
      return true;
    }
    if (n.is(Kind::UnterminatedString)) {
      say({n.span().file, n.span().begin, n.span().begin + 1}, source::message(diag::UnterminatedString));
      return true;
    }
    if (begins_inside_word(n)) return report_word(n), true;
    if (is_joined(n)) return report_word(n), true;
    if (n.is(Kind::UnexpectedIndent)) report_indent(n);
    if (n.is(Kind::MissingColon)) report_missing_colon(n);
    if (n.is(Kind::Block) && n.children().empty()) say(n.span(), source::message(diag::MissingBody));
    if (const std::size_t at = end_inside(n); at != Scan::kNone) report_line_end(at);
    if (n.is(Kind::Identifier) && support::is_python_keyword(n.text()))
      say(n.span(), source::message(diag::KeywordAsName, n.text()));
    return false;
  }

  // `x inf`: the grammar takes `in` for an operator wherever one is allowed, whatever follows it.
  bool begins_inside_word(Node n) const {
    const std::size_t at = n.row().begin;
    return at > 0 && at < tree_.text.size() && n.row().end > at && !n.is(Kind::Block) && is_word_byte(tree_.text[at]) &&
           is_word_byte(tree_.text[at - 1]);
  }
  // `x isnot y`: the grammar takes one word for two.
  static bool is_joined(Node n) {
    const std::string_view text = n.text();
    return (n.is(Kind::IsNot) || n.is(Kind::NotIn)) && std::all_of(text.begin(), text.end(), is_word_byte);
  }
  void report_word(Node n) {
    std::size_t begin = n.row().begin, end = begin;
    while (begin > 0 && is_word_byte(tree_.text[begin - 1])) --begin;
    while (end < tree_.text.size() && is_word_byte(tree_.text[end])) ++end;
    const std::string_view word = tree_.text.substr(begin, end - begin);
    say(span_of(begin, end), source::message(diag::SyntaxError, fmt::format("unexpected `{}`", word)));
  }

  // The line that is too deep; a tab in it, or in the line before, is the likely reason.
  void report_indent(Node n) {
    std::size_t begin = n.row().begin;
    while (begin < n.row().end && is_space(tree_.text[begin])) ++begin;
    const std::size_t line = line_start(static_cast<std::uint32_t>(begin));
    const std::size_t end = std::min(tree_.text.find('\n', begin), std::size_t(n.row().end));
    const std::string_view indent = tree_.text.substr(line, begin - line);
    const std::string_view above = line_above(line);
    const bool below_error = !above.empty() && std::size_t(above.data() - tree_.text.data()) == last_line_;
    // The block of a header that was cut out, and has the error.
    if (below_error && (begins_block(above.substr(above.find_first_not_of(" \t"))) || code_of(above).ends_with(':')))
      return;
    if (indent.find('\t') != std::string_view::npos || above.starts_with('\t')) {
      say(span_of(line, begin), source::message(diag::MixedIndent));
    } else {
      say(span_of(begin, end), source::message(diag::UnexpectedIndent));
    }
  }
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

  // The nearest line above that is not empty.
  std::string_view line_above(std::size_t line) const {
    while (line > 0) {
      const std::size_t end = line - 1;
      line = line_start(static_cast<std::uint32_t>(end));
      const std::string_view text = tree_.text.substr(line, end - line);
      if (text.find_first_not_of(" \t\r\f") != std::string_view::npos) return text;
    }
    return {};
  }

  // The grammar lets a line that cannot be the end of a statement go on in the next one; Python does not.
  std::size_t end_inside(Node n) const {
    const bool simple = n.is(Kind::Binding) || n.is(Kind::BufferStore) || n.is(Kind::AxisBinding) ||
                        n.is(Kind::AugmentedAssignment) || n.is(Kind::ReturnStatement);
    const bool value = n.is(Kind::ExpressionStatement);  // strings in lines of their own are statements
    if (!simple && !value) return Scan::kNone;
    const std::string_view text = tree_.text.substr(0, n.row().end);
    for (std::size_t at = text.find('\n', n.row().begin); at != Scan::kNone; at = text.find('\n', at + 1)) {
      const Scan scan = scan_brackets(text, n.row().begin, at);
      if (scan.long_string != Scan::kNone) {
        bool open = false;
        at = skip_string(text, scan.long_string, text.size(), open) - 1;
        continue;
      }
      const std::string_view line = text.substr(0, at);
      if (!scan.open.empty() || scan.stray != Scan::kNone || line.ends_with('\\') || line.ends_with("\\\r")) continue;
      if (!value || !may_end(line.substr(n.row().begin))) return at;
    }
    return Scan::kNone;
  }
  void report_line_end(std::size_t at) {
    const std::size_t line = line_start(static_cast<std::uint32_t>(at));
    const std::string_view code = code_of(tree_.text.substr(line, at - line));
    if (code.empty()) return;
    if (report_part(line + std::min(code.size(), code.find_first_not_of(" \t")))) return;
    const std::string_view last = last_token(code);
    const std::size_t begin = line + code.size() - last.size();
    say(span_of(begin, begin + last.size()),
        source::message(diag::SyntaxError, fmt::format("unexpected end of line after `{}`", last)));
  }

  // An `else` that continues nothing.
  bool report_part(std::size_t at) {
    const std::string_view word = first_word(tree_.text.substr(at));
    if (!is_part(word)) return false;
    say(span_of(at, at + word.size()), source::message(diag::PartAlone, word));
    return true;
  }

  // The header ends at its last character; the mark is after it.
  void report_missing_colon(Node n) {
    const std::size_t line = line_start(n.row().begin);
    const std::size_t at = line + code_of(tree_.text.substr(line, n.row().begin - line)).size();
    say(span_of(at, at), source::message(diag::MissingColon));
  }

  void say(source::Span span, source::Message m) {
    reported_ = true;
    // Two reports on one line are echoes of the same mistake.
    const std::uint32_t offset = tree_.mapped ? span.begin - tree_.text_offset : 0;
    const std::size_t line = line_start(offset);
    if (line == last_line_) return;
    last_line_ = line;
    if (!unread_.empty())
      m.notes.push_back({{}, fmt::format("the body of `{}` is not checked until this can be read", unread_)});
    unread_.clear();
    out_.add(span, std::move(m));
  }
  std::size_t line_start(std::uint32_t offset) const {
    const std::size_t at = std::min<std::size_t>(offset, tree_.text.size());
    const std::size_t nl = tree_.text.substr(0, at).rfind('\n');
    return nl == std::string_view::npos ? 0 : nl + 1;
  }
  source::Span span_of(std::size_t begin, std::size_t end) const {
    if (!tree_.mapped) return tree_.whole;
    return {tree_.file, static_cast<std::uint32_t>(begin) + tree_.text_offset,
            static_cast<std::uint32_t>(end) + tree_.text_offset};
  }

  void report_missing(Node n) {
    const std::size_t at = n.row().begin;
    if (report_bracket(line_start(n.row().begin), at)) return;
    const bool after_dot = at > 0 && tree_.text[at - 1] == '.';
    say(span_of(at, at),
        source::message(diag::SyntaxError, after_dot ? "a name is missing after `.`" : "something is missing here"));
  }

  // An unbalanced bracket best explains most damage; in a line that is balanced, two values side by side within
  // brackets.
  bool report_bracket(std::size_t begin, std::size_t end) {
    const std::size_t line_end = std::min(tree_.text.find('\n', begin), tree_.text.size());
    if (end <= line_end) {
      const std::size_t at = second_of_two_values(tree_.text, begin, line_end);
      if (at != Scan::kNone) {
        std::size_t word_end = at + 1;
        const char quote = tree_.text[at];
        if (quote == '"' || quote == '\'') {
          word_end = std::min(tree_.text.find(quote, word_end), line_end - 1) + 1;
        } else {
          while (word_end < line_end && is_word_byte(tree_.text[word_end])) ++word_end;
        }
        const std::string_view word = tree_.text.substr(at, word_end - at);
        say(span_of(at, word_end), source::message(diag::SyntaxError, fmt::format("`,` is missing before `{}`", word)));
        return true;
      }
    }
    const Scan scan = scan_brackets(tree_.text, begin, end);
    if (scan.stray != Scan::kNone) {
      report_stray(scan);
      return true;
    }
    if (scan.open.empty() || is_balanced(begin, line_end)) return false;
    const std::size_t at = scan.open.back();
    say(span_of(at, at + 1), source::message(diag::NeverClosed, std::string(1, tree_.text[at])));
    return true;
  }

  // The damage may end before the bracket that closes.
  bool is_balanced(std::size_t begin, std::size_t end) const {
    const Scan scan = scan_brackets(tree_.text, begin, end);
    return scan.stray == Scan::kNone && scan.open.empty() && scan.long_string == Scan::kNone;
  }

  // A closing bracket that closes nothing, or not the bracket that is open.
  void report_stray(const Scan& scan) {
    const std::string shown(1, tree_.text[scan.stray]);
    const source::Span span = span_of(scan.stray, scan.stray + 1);
    if (scan.open.empty()) return say(span, source::message(diag::NeverOpened, shown));
    const std::size_t at = scan.open.back();
    const std::string opened(1, tree_.text[at]);
    const std::string wanted(1, opened == "(" ? ')' : opened == "[" ? ']' : '}');
    say(span, source::message(diag::WrongCloser, shown, opened)
                  .with_note(span_of(at, at + 1), fmt::format("this `{}` is open; `{}` closes it", opened, wanted)));
  }

  void report_error(Node n) {
    const std::size_t begin = n.row().begin, end = n.row().end;
    if (report_bracket(line_start(n.row().begin), end)) return;
    // The first token that did not fit: the innermost first leaf past the start of the damage.
    std::string_view text = tree_.text.substr(begin, end - begin);
    const std::size_t eol = text.find('\n');
    if (eol != std::string_view::npos) text = text.substr(0, eol);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
    if (text.empty()) {
      say(span_of(begin, begin), source::message(diag::SyntaxError, "unexpected end of input"));
      return;
    }
    if (text.front() == '@' && eol == std::string_view::npos) {
      const bool named = text.size() > 1;
      say(span_of(begin, begin + text.size()),
          source::message(diag::SyntaxError, named ? "a `def` or a `class` must follow a decorator"
                                                   : "a decorator needs a name, as in `@R.function`"));
      return;
    }
    const std::string_view before = tree_.text.substr(line_start(n.row().begin), begin - line_start(n.row().begin));
    const bool first = before.find_first_not_of(" \t") == std::string_view::npos;
    if (first && report_part(begin)) return;
    std::string shown(text.substr(0, 40));
    if (text.size() > 40) shown += "...";
    source::Message m = source::message(diag::SyntaxError, fmt::format("unexpected `{}`", shown));
    if (first && header_without_colon(begin)) {
      m = source::message(diag::SyntaxError, "a header line ends with `:`");
    } else if (text.front() == '=' && is_condition(before)) {
      say(span_of(begin, begin + 1), source::message(diag::AssignedCondition));
      return;
    }
    const std::string_view last = last_token(text);
    const bool goes_on = support::is_python_keyword(last) ||
                         last.find_first_not_of("=+-*/%<>&|^~,\\") == std::string_view::npos ||
                         (last == "." && is_path_end(text));
    if (goes_on && ends_line(begin + text.size()) && !may_end(text) && !begins_block(text)) {
      const std::size_t at = begin + text.size() - last.size();
      m = source::message(diag::SyntaxError, fmt::format("unexpected end of line after `{}`", last));
      return say(span_of(at, at + last.size()), std::move(m));
    }
    say(span_of(begin, begin + text.size()), std::move(m));
  }

  bool ends_line(std::size_t at) const {
    const std::size_t eol = std::min(tree_.text.find('\n', at), tree_.text.size());
    return code_of(tree_.text.substr(at, eol - at)).find_first_not_of(" \t\r") == std::string_view::npos;
  }
  // `y = R.`, but not the last word of a sentence.
  static bool is_path_end(std::string_view code) {
    std::size_t at = code.size() - 1;
    const std::size_t dot = at;
    while (at > 0 && is_word_byte(code[at - 1])) --at;
    const std::size_t path = at;
    while (at > 0 && is_space(code[at - 1])) --at;
    return path < dot && (at == 0 || !is_word_byte(code[at - 1]));
  }
  // The word or the signs at the end of a piece of code.
  static std::string_view last_token(std::string_view code) {
    std::size_t at = code.size();
    const bool word = is_word_byte(code.back());
    while (at > 0 && !is_space(code[at - 1]) && is_word_byte(code[at - 1]) == word) --at;
    return code.substr(at);
  }

  // Whether the start of a line leads to a condition.
  static bool is_condition(std::string_view line) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
    for (const std::string_view word : {"if ", "elif ", "while ", "assert "})
      if (line.starts_with(word)) return true;
    return false;
  }

  bool header_without_colon(std::size_t at) const {
    const std::size_t eol = tree_.text.find('\n', at);
    std::string_view line = tree_.text.substr(at, eol == std::string_view::npos ? eol : eol - at);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (line.ends_with(":") || line.ends_with("(") || line.ends_with(",")) return false;
    return begins_block(line) && !line.starts_with('@');
  }

  const Tree& tree_;
  source::Diagnostics& out_;
  std::size_t last_line_ = std::string_view::npos;
  Node kernel_;         // that is not read
  std::string unread_;  // the function that is not read because of the header being reported
  bool reported_ = false;
  bool too_deep_ = false;
};

}  // namespace

bool report_damage(const Tree& tree, source::Diagnostics& out) { return Reporter(tree, out).run(); }

}  // namespace rldb::frontend::cst
