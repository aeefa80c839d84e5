// Statements found by lines, brackets and strings, and damage that stays where it is.
#include "frontend/cst/statements.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "frontend/cst/code_lines.h"
#include "frontend/cst/damage.h"
#include "frontend/cst/indentation.h"
#include "frontend/cst/parser.h"
#include "rldb/source/diagnostic.h"

using namespace rldb;
using frontend::cst::find_statements;
using frontend::cst::Statement;

namespace {

// Each statement on a line, those to be cut with a mark; a statement with `!` does not parse.
std::string shown(std::string_view text) {
  const auto found = find_statements(text, [&](std::uint32_t begin, std::uint32_t end) {
    return text.substr(begin, end - begin).find('!') == std::string_view::npos;
  });
  if (!found) return "too many";
  std::string out;
  for (const Statement& s : *found) {
    std::string piece(text.substr(s.begin, s.end - s.begin));
    for (char& c : piece)
      if (c == '\n') c = '|';
    out += (s.cut ? "cut " : "") + piece + "\n";
  }
  return out;
}

// The damage reported for a text, as the text of its spans.
std::vector<std::string> damage(std::string_view text) {
  source::Diagnostics found;
  frontend::cst::report_damage(frontend::cst::parse_tree({}, text), found);
  std::vector<std::string> out;
  for (const source::Diagnostic& d : found.all())
    out.emplace_back(text.substr(d.span.begin, d.span.end - d.span.begin));
  return out;
}

}  // namespace

TEST_CASE("a statement ends with its line, outside of brackets and strings") {
  CHECK(shown("# first\na = 1  # one\n\n  b = f(\nc,\n  d)\ns = \"\"\"x = 1\ny = (\n\"\"\"\nz = 1 + \\\n  2\n") ==
        "a = 1  # one\nb = f(|c,|  d)\ns = \"\"\"x = 1|y = (|\"\"\"\nz = 1 + \\|  2\n");
}

TEST_CASE("a statement that does not parse ends before the next one") {
  CHECK(shown("a = f(!\n  b,\n  c\nd = 1\n") == "cut a = f(!|  b,|  c\nd = 1\n");
  CHECK(shown("  a = f(!\n  ) + 1\n  d = (2)\n") == "cut a = f(!|  ) + 1\nd = (2)\n");
  CHECK(shown("a = \"\"\"!\nb = 1\n") == "cut a = \"\"\"!|b = 1|\n");
  CHECK(shown("a = ! b\n    c = 2\n") == "cut a = ! b\nc = 2\n");
}

TEST_CASE("a statement that is not finished goes on in the next line") {
  const auto parses = [](std::string_view text) {
    const auto found = find_statements(text, [&](std::uint32_t begin, std::uint32_t end) {
      return !text.substr(begin, end - begin).ends_with("not") && text[end - 1] != 'c';
    });
    REQUIRE(found);
    return found->size();
  };
  CHECK(parses("a = not\n\n# c\n  b\n") == 1);
  CHECK(parses("a =\n\n# c\n  b\n") == 2);  // it is cut out
  CHECK(parses("a = b\nc = 1\n") == 2);
  CHECK(frontend::cst::may_end("x = y"));
  CHECK(frontend::cst::may_end("return"));
  CHECK(!frontend::cst::may_end("x = y +  # so"));
  CHECK(!frontend::cst::may_end("x = not"));
}

TEST_CASE("a header that does not parse ends with its colon, before the next block, or with its line") {
  CHECK(shown("@R.function!\ndef f(!\n  x = 1\n  ) -> y:\n  return x\n") ==
        "cut @R.function!\ncut def f(!|  x = 1|  ) -> y:\nreturn x\n");
  CHECK(shown("def f(x!:\n  a = 1\n") == "cut def f(x!:\na = 1\n");
  CHECK(shown("def f(x!\n  with a:\n  b = 1\n") == "cut def f(x!\nwith a:\nb = 1\n");
  CHECK(shown("elsewhere = !\nelse!:\n") == "cut elsewhere = !\nelse!:\n");
}

TEST_CASE("a header without a block, or what it continues, is cut out") {
  const auto damage_of = [](std::string_view lines) {
    std::string text = "class M:\n    @R.function\n    def f(x: R.Any):\n";
    text += lines;
    text += "        y: R.Any = x\n        return y\n";
    return damage(text);
  };
  using Found = std::vector<std::string>;
  CHECK(damage_of("        if x\n") == Found{"if x"});
  CHECK(damage_of("        else:\n") == Found{"else"});
  CHECK(damage_of("        elif x:\n            z = x\n") == Found{"elif"});
  CHECK(damage_of("        if x:\n            z = x\n        else:\n            z = y\n").empty());
  CHECK(damage_of("        @R.function\n") == Found{"@R.function"});
  CHECK(damage_of("        @R.function\n        def g\n") == Found{"def g"});
  CHECK(damage_of("    @R.function\n") == Found{"@R.function"});  // with too little indentation
  // Its block is no further error.
  CHECK(damage_of("        if:\n            z = x\n").size() == 1);
  CHECK(damage_of("        if x: pass\n            z = x\n") == Found{"z = x"});
}

TEST_CASE("a header is replaced by one of the same words") {
  using frontend::cst::placeholder_header;
  CHECK(placeholder_header("def f(x: T(") == "def f(   ):");
  CHECK(placeholder_header("def f(\n  x y\n):") == "def f(\n     \n):");
  CHECK(placeholder_header("def (x):") == "def _():");
  CHECK(placeholder_header("def f(").empty());
  CHECK(placeholder_header("class M(:") == "class M: ");
  CHECK(placeholder_header("with R.dataflow(:") == "with R.dataflow: ");
  CHECK(placeholder_header("if (c:") == "if _: ");
  CHECK(placeholder_header("for i in (:") == "for _ in _:");
  CHECK(placeholder_header("@R.function(") == "@R.function ");
  CHECK(placeholder_header("@R.") == "@R ");
  CHECK(placeholder_header("@R..f(") == "@R    ");
  CHECK(placeholder_header("@").empty());
  CHECK(placeholder_header("@.f").empty());
  CHECK(placeholder_header("with R..f:") == "with _:   ");
  CHECK(placeholder_header("else (:").empty());
}

TEST_CASE("a text with too much damage is left alone") {
  std::string text;
  for (int i = 0; i < 101; ++i) text += "a = !\n";
  CHECK(shown(text) == "too many");
  text.clear();
  for (int i = 0; i < 101; ++i) text += "def f((:\n";
  CHECK(shown(text) == "too many");
}

TEST_CASE("placeholders have the length of what they stand for") {
  const std::string text = "  a = f(!\n     b\n  c = 1\n";
  const std::string out = frontend::cst::with_placeholders(text, {{2, 16, true}, {19, 24, false}});
  CHECK(out == "  _______\n      \n  c = 1\n");
  CHECK(out.size() == text.size());
}

TEST_CASE("a line with too little indentation is found, and what is around it stays") {
  const auto found = [](std::string_view text) {
    std::string out;
    const frontend::cst::CodeLines lines = frontend::cst::code_lines(text);
    for (const frontend::cst::Misplaced& m : frontend::cst::check_indentation(text, lines).misplaced)
      out += std::string(text.substr(m.begin, 1)) + std::to_string(m.column) + " ";
    return out;
  };
  const std::string head = "class M:\n    def f():\n        a = 1\n";
  CHECK(found(head + "    b = 1\n        c = 1\n") == "b8 ");
  CHECK(found(head + "b = (1,\n2)\n\n        c = 1\n") == "b8 ");
  CHECK(found(head + "      b = 1\n    def g():\n        pass\n") == "b8 ");  // the level of no block
  CHECK(found(head + "  b = 1\n  d = 1\n        c = 1\n") == "b8 d8 ");
  CHECK(found(head + "    b = 1\n    def g():\n        pass\n") == "");  // of the class
  CHECK(found(head + "b = 1\nc = 1\n") == "");
  CHECK(found(head + "            b = 1\n        c = 1\n") == "");  // too much: the grammar sees it
  CHECK(found("def f()\n    with a:\n        b = 1\n    c = 1\n    return c\n") == "");  // no colon
  CHECK(found(head + "            b = 1\n        c = 1\n            d = 1\n") == "");
  CHECK(found("if a:\n    if b:\n        a = 1\n    c = 1\nd = 1\n") == "");
  CHECK(found(head + "    s = \"\"\"\nx\n    \"\"\"\n        c = 1  # :\n") == "s8 ");
  CHECK(found("def f():\n\ta = 1\nb = 1\n\tc = 1\n") == "");  // tabs
  // Behind a header.
  CHECK(found("def f():\nb = 1\n    c = 1\n") == "b4 ");
  CHECK(found("class M:\n    def f():\n b = 1\n    d = 1\n        c = 1\n    def g():\n") == "b8 d8 ");
  CHECK(found("class M:\n    def f():\n    b = 1\n    def g():\n        pass\n") == "");
  CHECK(found("def f():\nb = 1\nc = 1\n") == "");
  CHECK(damage("class M:\n    def f():\n b = f(1, 2)\n        c = 1\n    def g():\n        pass\n") ==
        std::vector<std::string>{"b = f(1, 2)"});
  CHECK(damage(head + "    b = 1\n        c = 1\n") == std::vector<std::string>{"b = 1"});
  CHECK(damage(head + "b\n        c = 1\n") == std::vector<std::string>{"b"});
  CHECK(damage(head + "  b = f(1,\n  2)\n        c = 1\n") == std::vector<std::string>{"b = f(1,"});
}

TEST_CASE("a header among the lines of a block that goes on behind it") {
  const std::string head = "class M:\n    def f():\n        with a:\n            b = 1\n";
  const std::string tail = "            c = 1\n        return c\n";
  for (const std::string header : {"    class A:", "class A:", "    def g(x,\ny):", "  if x:", "class A"})
    CHECK_MESSAGE(damage(head + header + "\n" + tail) ==
                      std::vector<std::string>{header.substr(header.find_first_not_of(' ')).substr(0, 8)},
                  header);
  CHECK(damage(head + "    @R.function\n    def g(x):\n" + tail) == std::vector<std::string>{"@R.function"});
  const std::vector<std::string> none;
  // The rest may be the header's.
  CHECK(damage(head + "    def g():\n            c = 1\n    def h():\n        return 1\n") == none);
  CHECK(damage(head + "    def g():\n            c = 1\n") == none);
  CHECK(damage(head + "        if x:\n            c = 1\n        return c\n") == none);
  CHECK(damage(head + "    def g():\n        c = 1\n        return c\n") == none);
}

TEST_CASE("lines of code follow edits") {
  const std::string_view start =
      "class M:\n    def f(\n        a,\n    ):  # one\n        b = \"\"\"\n  x\n\"\"\" + (\n 1)\n\n        with c: \n"
      "            d = e \\\n + 1\n            g =\n# end\n        return d\n";
  const std::string_view pieces[] = {"(", ")", "\n", "    ", "#", "\"", "\"\"\"", ":", "x", "\\", "=", "if x:\n", ""};
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int run = 0; run < 200; ++run) {
    std::string text(start);
    frontend::cst::CodeLines lines = frontend::cst::code_lines(text);
    for (int i = 0; i < 20; ++i) {
      const std::uint32_t begin = below(text.size() + 1);
      const auto old_end = std::min(begin + below(3), static_cast<std::uint32_t>(text.size()));
      const std::string_view piece = pieces[below(std::size(pieces))];
      text.replace(begin, old_end - begin, piece);
      const auto new_end = static_cast<std::uint32_t>(begin + piece.size());
      lines = frontend::cst::code_lines(text, lines, begin, old_end, new_end);
      CHECK_MESSAGE(lines == frontend::cst::code_lines(text), text);
    }
  }
}

TEST_CASE("a text that ends too early says where") {
  CHECK(damage("class M:\n    @R.function\n") == std::vector<std::string>{"@R.function"});
  CHECK(damage("@I.ir_module\nclass M") == std::vector<std::string>{"class M"});
  CHECK(damage("def f():\n    x =") == std::vector<std::string>{"="});
  CHECK(damage("def f():\n    x = not\n    return x\n") == std::vector<std::string>{"not"});
  CHECK(damage("def f():\n    if x\n") == std::vector<std::string>{"if x"});
  CHECK(damage("@\ndef f(x: R.T):\n    return x\n") == std::vector<std::string>{"@"});
  CHECK(damage("x = \ny = 1\n") == std::vector<std::string>{"="});  // the grammar would go on
  CHECK(damage("x = (\n  1)\ny = 1 + \\\n  2\n").empty());
}

TEST_CASE("damage in one line does not reach the next") {
  CHECK(damage("a = R.add(x y)\nb = R.add(a, a)\n") == std::vector<std::string>{"y"});
  CHECK(damage("a = R.add(x, y\nb = R.add(a, a)\nc = b\n") == std::vector<std::string>{"("});
  CHECK(damage("a = R.add(x, y))\nb = (a\nc = b\n") == std::vector<std::string>{")", "("});
  CHECK(damage("@R.function\ndef f(x: R.T((2,), y: R.T):\n    a = b c\n    return a\n") ==
        std::vector<std::string>{"(", "c"});
  CHECK(damage("@R.function(pure=\ndef f(x: R.T):\n    with R.dataflow(:\n        a = x\n    return a\n") ==
        std::vector<std::string>{"(", "("});
  for (const std::string decorator : {"@R.", "@R..f", "@R.f."}) {
    CAPTURE(decorator);
    CHECK(damage("class M:\n    " + decorator + "\n    def f(x: R.T):\n        return x\n").size() == 1);
  }
}
