// Syntax errors of a tree: text that does not fit, in the order of the text, one per line. units.cc finds the trees.
#include <algorithm>
#include <array>

#include "frontend/relay/mistakes.h"
#include "frontend/relay/reader.h"
#include "frontend/relay/units.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend::relay_text {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/';
}

class Reporter {
 public:
  Reporter(const cst::Tree& tree, source::Diagnostics& out) : tree_(tree), out_(out) {}

  bool run() {
    for (std::uint32_t i = 0; i < tree_.rows.size(); ++i)
      if (visit(Node(&tree_, i))) i = std::max(i, tree_.rows[i].next - 1);
    return !reported_;
  }

 private:
  // True when the node's inside is covered by that report.
  bool visit(Node n) {
    if (n.is(Kind::Error)) return report_error(n), true;
    if (n.is(Kind::Missing)) return report_missing(n), true;
    if (n.is(Kind::TooDeep)) {
      if (!too_deep_) say(n.span(), source::message(diag::NestedTooDeepText));
      too_deep_ = true;
      return true;
    }
    return false;
  }

  void say(source::Span span, source::Message m) {
    reported_ = true;
    const std::size_t newline = tree_.text.substr(0, span.begin).rfind('\n');
    if (newline == last_line_) return;  // an echo of the mistake before it
    last_line_ = newline;
    out_.add(span, std::move(m));
  }

  // Begins where the first unfitting token begins, and ends with it.
  void report_error(Node n) {
    if (say_mistake(n.row().begin)) return;
    std::uint32_t begin = n.row().begin;
    const std::string_view text = tree_.text;
    while (begin < n.row().end && skip_blank_or_comment(begin)) {
    }
    std::uint32_t end = begin;
    const bool named = end < text.size() && (text[end] == '%' || text[end] == '@');
    if (end < text.size()) ++end;
    for (const std::string_view two : {"=>", "->", "==", "!=", "<=", ">="})
      if (text.substr(begin).starts_with(two)) end = begin + 2;
    if (named || is_word(text[begin]))
      while (end < text.size() && is_word(text[end])) ++end;
    const source::Span span{tree_.file, begin, end};
    const std::string_view word = text.substr(begin, end - begin);
    if (word == "-") return say(span, source::message(diag::RelayUnaryMinus));
    if (word == "\"") return say(span, source::message(diag::RelayOpenString));
    say(span, source::message(diag::RelaySyntax, word.empty() ? "the end of the text" : "`" + std::string(word) + "`"));
  }

  bool skip_blank_or_comment(std::uint32_t& at) const {
    const std::string_view text = tree_.text;
    if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') return ++at, true;
    return false;
  }

  bool say_mistake(std::uint32_t at) {
    constexpr int kMost = 100;  // each looks at the text around; of more errors nobody reads the last
    if (++searches_ > kMost) return false;
    auto mistake = find_mistake(tree_.text, at);
    if (!mistake) return false;
    say({tree_.file, mistake->begin, mistake->end}, std::move(mistake->message));
    return true;
  }

  void report_missing(Node n) {
    if (say_mistake(n.row().begin)) return;
    const std::string_view token = missing_token(n);
    say(n.span(), source::message(diag::RelayMissing, token));
  }
  // A missing node has no text; its name follows from its kind, or from what is open.
  static std::string_view missing_token(Node n) {
    static constexpr std::array<std::pair<Kind, std::string_view>, 4> kNames = {
        {{Kind::Local, "the name of a variable"},
         {Kind::Global, "the name of a function"},
         {Kind::Identifier, "a name"},
         {Kind::Number, "a number"}}};
    for (const auto& [kind, name] : kNames)
      if (n.kind() == kind) return name;
    return "something";
  }

  const cst::Tree& tree_;
  source::Diagnostics& out_;
  std::size_t last_line_ = std::string_view::npos - 1;
  int searches_ = 0;
  bool reported_ = false;
  bool too_deep_ = false;
};

}  // namespace

bool report_errors(const cst::Tree& tree, source::Diagnostics& out) { return Reporter(tree, out).run(); }

bool report_damage(const cst::Tree& tree, source::Diagnostics& out) {
  const bool damaged = std::any_of(tree.rows.begin(), tree.rows.end(), [](const cst::NodeRow& row) {
    return row.kind == Kind::Error || row.kind == Kind::Missing || row.kind == Kind::UnterminatedComment;
  });
  if (damaged) {
    TextDamage damage;
    damage.find(tree.text);
    if (damage.report(tree.file, out)) return false;
  }
  return report_errors(tree, out);
}

}  // namespace rldb::frontend::relay_text
