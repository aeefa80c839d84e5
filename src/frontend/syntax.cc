// Texts outside of modules: tree-sitter's tree of them, as plain nodes.
#include "rldb/frontend/syntax.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cst/damage.h"
#include "frontend/cst/literal.h"
#include "frontend/cst/parser.h"
#include "frontend/cst/scan.h"
#include "frontend/script/module_parts.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/cancel.h"
#include "rldb/support/number_literal.h"
#include "rldb/support/text.h"

namespace rldb::frontend {

using cst::Field;
using cst::Kind;
using support::Failure;

namespace {

using Made = support::Result<SyntaxNode, SyntaxFault>;

// The text as the grammar reads it. All positions are kept.
class SharedText {
 public:
  SharedText(std::string_view text, std::span<const OwnWord> own, bool lines) : text_(text), masked_(text) {
    for (const OwnWord& word : own) std::fill(masked_.begin() + word.begin, masked_.begin() + word.end, '_');
    while (offset_ < text.size() && support::is_blank(text[offset_])) ++offset_;
    if (!lines) join_lines();
  }

  std::string_view masked() const { return std::string_view(masked_).substr(offset_); }
  std::string_view text() const { return text_.substr(offset_); }
  std::size_t offset() const { return offset_; }

 private:
  // A comment ends with its line: such a text is left as it is.
  void join_lines() {
    if (masked_.find('\n') == std::string::npos) return;
    for (std::size_t i = 0; i < masked_.size(); ++i) {
      if (masked_[i] == '#') return;
      if (masked_[i] == '\n' || masked_[i] == '\r') masked_[i] = ' ';
      if (masked_[i] == '"' || masked_[i] == '\'') i = end_of_string(masked_, i) - 1;
    }
  }

  std::string_view text_;
  std::string masked_;
  std::size_t offset_ = 0;
};

cst::Tree tree_of(std::string_view text) { return cst::parse_tree({}, text, {.max_depth = kMaxSyntaxDepth}); }

class SyntaxReader {
 public:
  SyntaxReader(std::string_view text, std::span<const OwnWord> own, bool lines)
      : shared_(text, own, lines), own_(own), tree_(tree_of(shared_.masked())) {}

  support::Result<std::vector<SyntaxLine>, SyntaxFault> lines() {
    RLDB_TRY_VOID(check());
    std::vector<SyntaxLine> found;
    for (const cst::Node statement : script::statements_of(tree_)) {
      if (statement.is(Kind::Comment)) continue;
      RLDB_TRY(SyntaxLine line, line_of(statement));
      found.push_back(std::move(line));
    }
    std::sort(names_.begin(), names_.end());
    RLDB_TRY_VOID(check_own());
    return found;
  }

 private:
  support::Result<SyntaxLine, SyntaxFault> line_of(cst::Node statement) {
    SyntaxLine line;
    const cst::Node target = statement.child(Field::Target);
    const bool binding = statement.is(Kind::Binding) && target.is(Kind::Identifier) &&
                         !statement.child(Field::Annotation) && statement.count() == 2;
    if (!binding && !statement.is(Kind::ExpressionStatement))
      return fault(statement, fmt::format("{} is not an expression", script::shown_kind(statement.kind())));
    if (binding) line.target = target.text();
    RLDB_TRY(line.value, node(statement.child(Field::Value)));
    return line;
  }

  // ---- faults ----

  std::uint32_t begin_of(cst::Node n) const { return std::uint32_t(n.row().begin + shared_.offset()); }
  std::uint32_t end_of(cst::Node n) const { return std::uint32_t(n.row().end + shared_.offset()); }
  Failure<SyntaxFault> fault(cst::Node n, std::string text) const {
    return Failure(SyntaxFault{begin_of(n), end_of(n), std::move(text)});
  }
  Failure<SyntaxFault> fault_at_end(std::string text) const {
    const auto end = std::uint32_t(shared_.offset() + shared_.text().size());
    return Failure(SyntaxFault{end, end, std::move(text)});
  }

  support::Result<support::Unit, SyntaxFault> check() {
    if (!cst::within_limits(shared_.masked())) return fault_at_end(source::message(diag::NestedTooDeepText).text);
    if (support::trim(shared_.text()).empty()) return fault_at_end("the text ends");
    source::Diagnostics found;
    cst::Tree shown = tree_;
    shown.text = shared_.text();  // reports quote what was written
    if (!cst::report_damage(shown, found)) return support::Unit{};
    const source::Diagnostic& first = found.all().front();
    if (first.id == source::DiagId(diag::SyntaxError) && is_unfinished()) return fault_at_end("the text ends");
    const auto offset = std::uint32_t(shared_.offset());
    return Failure(SyntaxFault{first.span.begin + offset, first.span.end + offset, without_heading(first)});
  }

  // A name after it would mend it.
  bool is_unfinished() const {
    source::Diagnostics found;
    const std::string longer = std::string(support::trim(shared_.masked())) + " _";
    return !cst::report_damage(tree_of(longer), found);
  }

  // `unexpected x`, not `syntax error: unexpected x`: the caller says that the text cannot be read.
  static std::string without_heading(const source::Diagnostic& d) {
    const std::string_view form = diag::SyntaxError.text;
    const std::string_view heading = form.substr(0, form.find('{'));
    return d.id == source::DiagId(diag::SyntaxError) ? d.message.substr(heading.size()) : d.message;
  }

  // Each of the language's words must have been read as a name by itself: `x$a` is none.
  support::Result<support::Unit, SyntaxFault> check_own() const {
    for (const OwnWord& word : own_)
      if (!std::binary_search(names_.begin(), names_.end(), std::pair(word.begin, word.end)))
        return Failure(SyntaxFault{word.begin, word.end,
                                   fmt::format("unexpected `{}`", shared_.text().substr(word.begin - shared_.offset(),
                                                                                        word.end - word.begin))});
    return support::Unit{};
  }

  // ---- nodes ----

  Made node(cst::Node n) {
    support::poll();
    SyntaxNode out;
    out.begin = begin_of(n);
    out.end = end_of(n);
    switch (cst::expression_kind(n.kind())) {
      case cst::ExpressionKind::Identifier:
        out.kind = SyntaxKind::Name;
        out.text = shared_.text().substr(n.row().begin, n.row().end - n.row().begin);
        names_.emplace_back(out.begin, out.end);
        return out;
      case cst::ExpressionKind::Integer:
      case cst::ExpressionKind::Float:
        return number(n, std::move(out));
      case cst::ExpressionKind::String:
      case cst::ExpressionKind::ConcatenatedString:
        return string(n, std::move(out));
      case cst::ExpressionKind::Boolean:
        out.kind = SyntaxKind::Boolean;
        out.integer = n.text() == "True";
        return out;
      case cst::ExpressionKind::None:
        out.kind = SyntaxKind::None;
        return out;
      case cst::ExpressionKind::Ellipsis:
        out.kind = SyntaxKind::Ellipsis;
        return out;
      case cst::ExpressionKind::Attribute:
        out.text = n.child(Field::Attribute).text();
        return with(std::move(out), SyntaxKind::Attribute, {n.child(Field::Object)});
      case cst::ExpressionKind::Call:
        return call(n, std::move(out));
      case cst::ExpressionKind::Subscript:
        return subscript(n, std::move(out));
      case cst::ExpressionKind::Tuple:
        return with(std::move(out), SyntaxKind::Tuple, n.children());
      case cst::ExpressionKind::List:
        return with(std::move(out), SyntaxKind::List, n.children());
      case cst::ExpressionKind::Dictionary:
        return dictionary(n, std::move(out));
      case cst::ExpressionKind::Parenthesized:
        return node(n.child(Field::Value));
      case cst::ExpressionKind::Unary:
        out.text = n.child(Field::Operator).text();
        return with(std::move(out), SyntaxKind::Unary, {n.child(Field::Operand)});
      case cst::ExpressionKind::Binary:
        out.text = n.child(Field::Operator).text();
        return with(std::move(out), SyntaxKind::Binary, {n.child(Field::Left), n.child(Field::Right)});
      case cst::ExpressionKind::Comparison:
        return comparison(n, std::move(out));
      case cst::ExpressionKind::Not:
        return with(std::move(out), SyntaxKind::Not, {n.child(Field::Operand)});
      case cst::ExpressionKind::Logical:
        return logical(n, std::move(out));
      case cst::ExpressionKind::Conditional:
        return with(std::move(out), SyntaxKind::Conditional,
                    {n.child(Field::Condition), n.child(Field::Consequence), n.child(Field::Alternative)});
#define RLDB_CST_PYTHON(Kind, ...) case cst::ExpressionKind::Kind:
#include "frontend/cst/node_kinds.def"
      case cst::ExpressionKind::UnterminatedString:
      case cst::ExpressionKind::Lambda:
      case cst::ExpressionKind::Damage:
      case cst::ExpressionKind::Other:
        break;
    }
    out.kind = SyntaxKind::Other;
    out.text = n.is(Kind::Splat) || n.is(Kind::DictionarySplat) ? "unpacking with `*`" : script::shown_kind(n.kind());
    return out;
  }

  template <class Nodes>
  Made with_parts(SyntaxNode out, SyntaxKind kind, const Nodes& parts) {
    out.kind = kind;
    for (const cst::Node part : parts) {
      RLDB_TRY(SyntaxNode made, node(part));
      out.parts.push_back(std::move(made));
    }
    return out;
  }
  Made with(SyntaxNode out, SyntaxKind kind, std::initializer_list<cst::Node> parts) {
    return with_parts(std::move(out), kind, parts);
  }
  Made with(SyntaxNode out, SyntaxKind kind, cst::Children parts) { return with_parts(std::move(out), kind, parts); }

  Made number(cst::Node n, SyntaxNode out) {
    bool too_big = false;
    const auto whole = n.is(Kind::Integer) ? support::read_integer(n.text(), too_big) : std::nullopt;
    if (whole) {
      out.kind = SyntaxKind::Integer;
      out.integer = *whole;
      return out;
    }
    if (too_big) return fault(n, source::message(diag::NumberTooBig, n.text()).text);
    const auto real = support::read_float(n.text());
    if (!real) return fault(n, source::message(diag::BadNumber, n.text()).text);
    out.kind = SyntaxKind::Float;
    out.number = *real;
    return out;
  }

  Made string(cst::Node n, SyntaxNode out) {
    out.kind = SyntaxKind::String;
    std::vector<cst::Node> pieces;
    if (n.is(Kind::String)) pieces.push_back(n);
    for (const cst::Node piece : n.children()) pieces.push_back(piece);
    for (const cst::Node piece : pieces) {
      const cst::StringLiteral literal = cst::split_string(piece.text());
      if (literal.formatted && literal.body.find('{') != std::string_view::npos)
        return fault(piece, source::message(diag::FormattedString).text);
      const auto value = cst::unescape(literal);
      if (!value) return fault(piece, source::message(diag::BadEscape).text);
      out.text += *value;
    }
    return out;
  }

  Made call(cst::Node n, SyntaxNode out) {
    out.kind = SyntaxKind::Call;
    RLDB_TRY(SyntaxNode callee, node(n.child(Field::Function)));
    out.parts.push_back(std::move(callee));
    const cst::Node arguments = n.child(Field::Arguments);
    if (arguments.child(Field::Body)) {  // `f(e for x in y)`
      RLDB_TRY(SyntaxNode made, node(arguments));
      out.parts.push_back(std::move(made));
      return out;
    }
    for (const cst::Node argument : arguments.children()) {
      const bool keyword = argument.is(Kind::KeywordArgument);
      RLDB_TRY(SyntaxNode made, node(keyword ? argument.child(Field::Value) : argument));
      if (keyword) made.keyword = argument.child(Field::Name).text();
      out.parts.push_back(std::move(made));
    }
    return out;
  }

  Made subscript(cst::Node n, SyntaxNode out) {
    out.kind = SyntaxKind::Subscript;
    for (const cst::Node part : n.children()) {
      RLDB_TRY(SyntaxNode made, part.is(Kind::Slice) ? slice(part) : node(part));
      out.parts.push_back(std::move(made));
    }
    return out;
  }

  Made slice(cst::Node n) {
    SyntaxNode out;
    out.kind = SyntaxKind::Slice;
    out.begin = begin_of(n);
    out.end = end_of(n);
    for (const Field field : {Field::Start, Field::Stop, Field::Step}) {
      out.parts.emplace_back();
      if (const cst::Node part = n.child(field)) {
        RLDB_TRY(out.parts.back(), node(part));
      }
    }
    return out;
  }

  Made dictionary(cst::Node n, SyntaxNode out) {
    out.kind = SyntaxKind::Dictionary;
    for (const cst::Node pair : n.children()) {
      if (!pair.is(Kind::Pair)) return fault(pair, "unpacking with `**` is not supported here");
      for (const Field field : {Field::Key, Field::Value}) {
        RLDB_TRY(SyntaxNode made, node(pair.child(field)));
        out.parts.push_back(std::move(made));
      }
    }
    return out;
  }

  Made comparison(cst::Node n, SyntaxNode out) {
    out.kind = SyntaxKind::Comparison;
    for (const cst::Node part : n.children()) {
      if (part.field() != Field::Operator) {
        RLDB_TRY(SyntaxNode made, node(part));
        out.parts.push_back(std::move(made));
      } else {
        out.operators.emplace_back(part.is(Kind::NotIn) ? "not in" : part.is(Kind::IsNot) ? "is not" : part.text());
      }
    }
    return out;
  }

  // `a or b or c` has three parts.
  Made logical(cst::Node n, SyntaxNode out) {
    const std::string_view word = n.child(Field::Operator).text();
    std::vector<cst::Node> parts;
    for (cst::Node at = n;;) {
      parts.push_back(at.child(Field::Right));
      at = at.child(Field::Left);
      if (at.is(Kind::Logical) && at.child(Field::Operator).text() == word) continue;
      parts.push_back(at);
      break;
    }
    std::reverse(parts.begin(), parts.end());
    return with_parts(std::move(out), word == "or" ? SyntaxKind::Or : SyntaxKind::And, parts);
  }

  SharedText shared_;
  std::span<const OwnWord> own_;
  cst::Tree tree_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> names_;  // as read
};

}  // namespace

support::Result<SyntaxNode, SyntaxFault> read_syntax(std::string_view text, std::span<const OwnWord> own) {
  RLDB_TRY(std::vector<SyntaxLine> lines, SyntaxReader(text, own, false).lines());
  const auto end = std::uint32_t(text.size());
  if (lines.empty()) return Failure(SyntaxFault{end, end, "the text ends"});
  if (lines.size() > 1) {
    const std::uint32_t begin = lines[1].value.begin;
    return Failure(SyntaxFault{begin, lines[1].value.end, "one expression was expected, this is another"});
  }
  SyntaxLine& line = lines[0];
  if (!line.target.empty()) {
    const std::size_t at = text.rfind('=', line.value.begin);
    return Failure(
        SyntaxFault{std::uint32_t(at), std::uint32_t(at + 1), "`=` is not an operator; a comparison is written `==`"});
  }
  return std::move(line.value);
}

support::Result<std::vector<SyntaxLine>, SyntaxFault> read_syntax_lines(std::string_view text,
                                                                        std::span<const OwnWord> own) {
  return SyntaxReader(text, own, true).lines();
}

bool joins_values(std::string_view word) { return cst::joins_values(word); }

std::size_t end_of_string(std::string_view text, std::size_t begin) {
  bool open = false;
  return cst::skip_string(text, begin, text.size(), open);
}

}  // namespace rldb::frontend
