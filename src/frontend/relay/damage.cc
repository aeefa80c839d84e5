// Syntax errors: text that does not fit, in the order of the text, one per line.
#include <algorithm>
#include <array>

#include "frontend/relay/reader.h"
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
    bool damaged = false;
    for (const cst::NodeRow& row : tree_.rows)
      damaged = damaged || row.kind == Kind::Error || row.kind == Kind::Missing;
    // An open bracket makes everything after it wrong: only the bracket is reported.
    if (damaged && report_brackets()) return false;
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

  void report_missing(Node n) {
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

  struct Open {
    char bracket;
    std::uint32_t at;
  };
  // The first bracket, string or comment that is not closed, or that closes nothing.
  bool report_brackets() {
    const std::string_view text = tree_.text;
    std::vector<Open> open;
    for (std::uint32_t i = 0; i < text.size(); ++i) {
      if (text.substr(i).starts_with("#[metadata]")) break;
      const char c = text[i];
      if (c == '"') {
        const std::size_t end = text.find('"', i + 1);
        if (end == std::string_view::npos) return report(i, source::message(diag::RelayOpenString));
        i = static_cast<std::uint32_t>(end);
      } else if (c == '/' && (i == 0 || !is_word(text[i - 1])) && text.substr(i).starts_with("//")) {
        i = static_cast<std::uint32_t>(std::min(text.find('\n', i), text.size()));
      } else if (c == '/' && text.substr(i).starts_with("/*")) {
        const std::uint32_t begin = i;
        if (!skip_comment(i)) return report(begin, source::message(diag::RelayOpenComment));
      } else if (c == '(' || c == '[' || c == '{') {
        open.push_back({c, i});
      } else if (c == ')' || c == ']' || c == '}') {
        const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (open.empty()) return report(i, source::message(diag::NeverOpened, std::string(1, c)));
        if (open.back().bracket != wanted)
          return report(i, source::message(diag::WrongCloser, std::string(1, c), std::string(1, open.back().bracket)));
        open.pop_back();
      }
    }
    if (open.empty()) return false;
    return report(open.front().at, source::message(diag::NeverClosed, std::string(1, open.front().bracket)));
  }
  bool report(std::uint32_t at, source::Message m) {
    out_.add({tree_.file, at, at + 1}, std::move(m));
    return true;
  }
  // To the last character of the comment.
  bool skip_comment(std::uint32_t& i) const {
    int depth = 0;
    for (; i + 1 < tree_.text.size(); ++i) {
      const std::string_view two = tree_.text.substr(i, 2);
      if (two == "/*") {
        ++depth;
        ++i;
      } else if (two == "*/") {
        ++i;
        if (--depth == 0) return true;
      }
    }
    return false;
  }

  const cst::Tree& tree_;
  source::Diagnostics& out_;
  std::size_t last_line_ = std::string_view::npos - 1;
  bool reported_ = false;
  bool too_deep_ = false;
};

}  // namespace

bool report_damage(const cst::Tree& tree, source::Diagnostics& out) {
  for (const cst::NodeRow& row : tree.rows)
    if (row.kind == Kind::UnterminatedComment) {
      out.add({tree.file, row.begin, row.begin + 2}, source::message(diag::RelayOpenComment));
      return false;
    }
  return Reporter(tree, out).run();
}

}  // namespace rldb::frontend::relay_text
