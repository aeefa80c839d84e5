// Whether an entry at the prompt is complete, where its next line would start, what closes it: answers of its tree.
#include <tree_sitter/api.h>

#include <algorithm>

#include "frontend/cst/open_brackets.h"
#include "frontend/cst/parser.h"
#include "frontend/cst/query.h"
#include "frontend/cst/scan.h"
#include "frontend/cst/ts_language.h"
#include "frontend/cst/ts_parser.h"

namespace rldb::frontend::cst {

namespace {

std::string_view trim_right(std::string_view s) {
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\n' || s.back() == '\r'))
    s.remove_suffix(1);
  return s;
}

std::string_view last_line(std::string_view s) {
  const std::size_t nl = s.rfind('\n');
  return nl == std::string_view::npos ? s : s.substr(nl + 1);
}

std::size_t indent_of(std::string_view line) {
  const std::size_t at = line.find_first_not_of(" \t");
  return at == std::string_view::npos ? line.size() : at;
}

bool is_compound(Kind k) {
  constexpr bool Block = true, Line = false;
#define RLDB_CST_STATEMENT(K, name, form, ...) \
  if (k == Kind::K) return form;
#include "frontend/cst/node_kinds.def"
  return false;
}

// Whether the text ends in an empty line.
bool ends_in_empty_line(std::string_view text) {
  const std::string_view rest = text.substr(trim_right(text).size());
  std::size_t breaks = 0;
  for (const char c : rest) breaks += c == '\n' ? 1 : 0;
  return breaks >= 2;
}

}  // namespace

std::optional<ClosedEntry> close_brackets(std::string_view text) {
  const OpenBrackets found = open_brackets(text, text.size());
  if (found.stray || found.in_long_string || found.open.empty()) return std::nullopt;
  ClosedEntry closed{std::string(trim_right(text)), found.open.back().at};
  for (std::size_t i = found.open.size(); i-- > 0;) {
    const char c = found.open[i].text;
    closed.text += c == '(' ? ')' : c == '[' ? ']' : '}';
  }
  return closed;
}

OpenCall open_call(std::string_view text, std::size_t place) {
  const OpenBrackets found = open_brackets(text, place);
  for (std::size_t i = found.open.size(); i-- > 0;) {
    const OpenBracket& bracket = found.open[i];
    if (bracket.text != '(') continue;  // an argument that is a list
    std::size_t begin = bracket.at;
    while (begin > 0 && (is_word_byte(text[begin - 1]) || text[begin - 1] == '.')) --begin;
    if (begin < bracket.at) return {text.substr(begin, bracket.at - begin), bracket.at + 1, bracket.commas};
  }
  return {};
}

namespace {

// The answer of brackets, strings and the end, if they have one.
std::optional<Completeness> completeness_by_brackets(std::string_view text) {
  const std::string_view trimmed = trim_right(text);
  if (trimmed.empty()) return Completeness::Complete;
  const OpenBrackets found = open_brackets(text, text.size());
  if (found.stray) return Completeness::Complete;
  if (!found.open.empty() || found.in_long_string || trimmed.back() == '\\') return Completeness::Incomplete;
  return std::nullopt;
}

Completeness completeness_by_statement(std::string_view text, Kind last, bool ends_in_header) {
  const std::string_view trimmed = trim_right(text);
  // A decorator that no definition follows.
  const std::string_view line = last_line(trimmed);
  if (line.substr(indent_of(line)).starts_with("@")) return Completeness::Incomplete;
  if (ends_in_header || code_of(line).ends_with(":")) return Completeness::Incomplete;
  if (is_compound(last) || last == Kind::Error) {
    const bool several_lines = trimmed.find('\n') != std::string_view::npos;
    if (several_lines || is_compound(last))
      return ends_in_empty_line(text) ? Completeness::Complete : Completeness::Open;
  }
  return Completeness::Complete;
}

// A header without its block is damage that touches the end.
bool ends_in_header(const Tree& tree, std::size_t size) {
  for (std::size_t i = tree.rows.size(); i-- > 0;) {
    const NodeRow& row = tree.rows[i];
    if (row.kind == Kind::Block && row.next == i + 1 && row.end + 1 >= size) return true;
    if (row.end < size && row.kind != Kind::Block) break;
  }
  return false;
}

Completeness completeness_of_damaged(const Tree& tree, std::string_view text) {
  Node last;
  for (Node s : Node(&tree, 0).children()) last = s;
  if (!last) return Completeness::Complete;
  return completeness_by_statement(text, last.kind(), ends_in_header(tree, trim_right(text).size()));
}

}  // namespace

Completeness completeness(const LiveTree& tree, std::string_view text) {
  if (const auto by_brackets = completeness_by_brackets(text)) return *by_brackets;
  if (tree.has_error()) return completeness_of_damaged(tree.copy({}), text);
  const TSNode root = parts_of(tree).root;
  for (std::uint32_t i = ts_node_named_child_count(root); i-- > 0;)
    if (const TSNode last = ts_node_named_child(root, i); !ts_node_is_extra(last))
      return completeness_by_statement(text, language().kind_of(last), false);
  return Completeness::Complete;
}

// `if c:`, `elif c:`, `else:`.
static bool begins_branch(std::string_view line, std::initializer_list<std::string_view> words) {
  const std::string_view code = code_of(line);
  if (!trim_right(code).ends_with(":")) return false;
  const std::string_view rest = code.substr(indent_of(code));
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return rest.starts_with(word) && rest.size() > word.size() && !is_word_byte(rest[word.size()]);
  });
}

std::optional<int> branch_indent(std::string_view text) {
  std::string_view line = last_line(text);
  if (!begins_branch(line, {"else", "elif"})) return std::nullopt;
  std::size_t deepest = indent_of(line) + 1;
  while (line.data() != text.data()) {
    text = text.substr(0, std::size_t(line.data() - text.data()) - 1);
    line = last_line(text);
    const std::size_t indent = indent_of(line);
    if (indent == line.size() || indent >= deepest) continue;
    if (begins_branch(line, {"if", "elif"})) return static_cast<int>(indent);
    deepest = indent;
  }
  return std::nullopt;
}

int next_indent(std::string_view text) {
  const OpenBrackets found = open_brackets(text, text.size());
  if (found.in_long_string) return 0;
  if (!found.open.empty()) {
    const std::string_view opener = last_line(text.substr(0, found.open.back().at + 1));
    return static_cast<int>(indent_of(opener)) + 4;
  }
  const std::string_view line = last_line(trim_right(text));
  const int indent = static_cast<int>(indent_of(line));
  const std::string_view code = code_of(line);
  if (code.ends_with(":")) return indent + 4;
  const std::string_view word = code.substr(std::min(code.size(), indent_of(code)));
  for (std::string_view end : {"return", "pass", "break", "continue", "raise"})
    if (word.starts_with(end) && (word.size() == end.size() || !is_word_byte(word[end.size()])))
      return indent >= 4 ? indent - 4 : 0;
  return indent;
}

}  // namespace rldb::frontend::cst
