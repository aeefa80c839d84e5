// Expressions outside of modules, as plain nodes.
#include "rldb/frontend/syntax.h"

#include <doctest/doctest.h>

using namespace rldb;
using frontend::OwnWord;
using frontend::read_syntax;
using frontend::SyntaxKind;
using frontend::SyntaxNode;

namespace {

// The parts in brackets, each with its text.
std::string shown(const SyntaxNode& n) {
  std::string out = n.keyword.empty() ? "" : n.keyword + "=";
  if (n.kind == SyntaxKind::Integer || n.kind == SyntaxKind::Boolean) return out + std::to_string(n.integer);
  if (n.kind == SyntaxKind::Float) return out + std::to_string(n.number);
  if (n.kind == SyntaxKind::String) return out + "\"" + n.text + "\"";
  if (n.kind == SyntaxKind::Absent) return out + "-";
  out += n.text;
  for (const std::string& op : n.operators) out += op;
  if (n.parts.empty()) return out;
  out += "[";
  for (const SyntaxNode& part : n.parts) out += (out.back() == '[' ? "" : " ") + shown(part);
  return out + "]";
}

std::string read(std::string_view text, std::vector<OwnWord> own = {}) {
  const auto made = read_syntax(text, own);
  if (made.ok()) return shown(*made);
  return std::to_string(made.error().begin + 1) + ": " + made.error().text;
}

}  // namespace

TEST_CASE("operators as in Python") {
  CHECK(read("a + b * -c ** 2") == "+[a *[b -[**[c 2]]]]");
  CHECK(read("a < b <= c") == "<<=[a b c]");
  CHECK(read("a or b or c and not d") == "[a b [c [d]]]");
  CHECK(read("a if b else c") == "[b a c]");
  CHECK(read("(a | b) & ~c") == "&[|[a b] ~[c]]");
}

TEST_CASE("calls, subscripts, literals") {
  CHECK(read("f.g(x, axis=1)[0, :2, ...]") == "[[g[f] x axis=1] 0 [- 2 -] ]");
  CHECK(read("1_000, 0x1F, 1.5, True, 'a' \"b\", None") == "[1000 31 1.500000 1 \"ab\" ]");
  CHECK(read("{'a': [1]}") == "[\"a\" [1]]");
  CHECK(read("(a +\n b)\n * c") == "*[+[a b] c]");
}

TEST_CASE("words that the grammar lacks") {
  CHECK(read("$a + 1", {{0, 2}}) == "+[$a 1]");
  CHECK(read("x$a + 1", {{1, 3}}) == "2: unexpected `$a`");
  CHECK(read("f(  $a  b)", {{4, 6}}) == "9: `,` is missing before `b`");
}

TEST_CASE("what cannot be read says where") {
  CHECK(read("") == "1: the text ends");
  CHECK(read("a +") == "4: the text ends");
  CHECK(read("(a") == "1: `(` is never closed");
  CHECK(read("  a b") == "5: unexpected `b`");
  CHECK(read("a = 1") == "3: `=` is not an operator; a comparison is written `==`");
  CHECK(read("a; b") == "4: one expression was expected, this is another");
  CHECK(read("'a") == "1: this string is not terminated");
  CHECK(read("return a") == "1: a return statement is not an expression");
  CHECK(read("lambda: 1") == "a lambda");
  CHECK(read(std::string(20'000, '(')).ends_with("nested too deeply to be read"));
  CHECK(read(std::string(5'000, '-') + "1").ends_with("nested too deeply to be read"));
}

TEST_CASE("lines") {
  const auto lines = frontend::read_syntax_lines("a = f(x)\n\nb = a; b + a\n");
  REQUIRE(lines.ok());
  REQUIRE(lines->size() == 3);
  CHECK((*lines)[0].target == "a");
  CHECK((*lines)[1].target == "b");
  CHECK((*lines)[2].target.empty());
  CHECK(shown((*lines)[2].value) == "+[b a]");
}
