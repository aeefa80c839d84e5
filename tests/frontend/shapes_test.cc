// Statements of one shape are read once: the rows are those that the grammar gives for the whole text.
#include <doctest/doctest.h>
#include <tree_sitter/api.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "frontend/cst/known_shapes.h"
#include "frontend/cst/parser.h"
#include "frontend/cst/short_text.h"
#include "frontend/document_check.h"
#include "frontend/vandal.h"
#include "golden/golden.h"
#include "rldb/frontend/parse.h"
#include "rldb/support/python_keyword.h"

extern "C" const TSLanguage* tree_sitter_tvmscript(void);

namespace rldb::frontend {
namespace {

using testing::Vandal;

std::string difference_of_rows(const std::vector<cst::NodeRow>& a, const std::vector<cst::NodeRow>& b) {
  if (a.size() != b.size()) return std::to_string(a.size()) + " rows, not " + std::to_string(b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].kind != b[i].kind || a[i].field != b[i].field || a[i].damaged != b[i].damaged ||
        a[i].begin != b[i].begin || a[i].end != b[i].end || a[i].next != b[i].next)
      return "row " + std::to_string(i) + ", " + std::string(to_string(a[i].kind)) + " at " +
             std::to_string(a[i].begin) + ", " + std::string(to_string(b[i].kind)) + " at " +
             std::to_string(b[i].begin);
  return {};
}

// Where the two trees of a text differ, when no shape is known, or all of its are; empty: nowhere.
std::string difference_by_shape(std::string_view text, cst::KnownShapes& shapes, int max_depth = 1000) {
  cst::TreeOptions plain, by_shape;
  plain.by_shape = false;
  plain.max_depth = by_shape.max_depth = max_depth;
  by_shape.shapes = &shapes;
  const std::vector<cst::NodeRow> rows = cst::parse_tree({}, text, plain).rows;
  for (const char* time : {"cold: ", "warm: "})
    if (const std::string found = difference_of_rows(rows, cst::parse_tree({}, text, by_shape).rows); !found.empty())
      return time + found;
  return {};
}
std::string difference_by_shape(std::string_view text, int max_depth = 1000) {
  cst::KnownShapes shapes;
  return difference_by_shape(text, shapes, max_depth);
}

std::string repeated(std::string_view line, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += line;
  return text;
}

std::vector<std::string> shapes(std::string_view text) {
  std::vector<std::string> out;
  cst::ShapeScan scan(text);
  while (scan.next()) out.emplace_back(scan.shape().empty() ? "?" : scan.shape());
  if (scan.lost()) out.emplace_back("lost");
  return out;
}

}  // namespace

TEST_CASE("the shape of a statement has keywords and punctuation, not names and digits") {
  CHECK(shapes("lv1: R.Tensor((n, 64)) = R.add(x, 'a')\n") == shapes("y: f.g((k, 7))  =  T1.q(z, 'bcd')\n"));
  CHECK(shapes("a = b if c else d") == std::vector<std::string>{"\1 = \1 if \1 else \1"});
  CHECK(shapes("v = T.axis.spatial(4, i)") != shapes("v = S.axes.spatial(4, i)"));
  CHECK(shapes("x = 12.5e-3 + .5") == shapes("x = 1.0e-10 + .25"));
  CHECK(shapes("x = 1") != shapes("x = 1.0"));
  CHECK(shapes("x = -1") != shapes("x = 1"));
  CHECK(shapes("f(a,\n  b)\ny = 1") == std::vector<std::string>{"\1(\1,\n \1)", "\1 = 0"});
}

TEST_CASE("every word of the grammar is a keyword of Python, which shapes tell apart") {
  const TSLanguage* language = tree_sitter_tvmscript();
  for (std::uint32_t s = 0; s < ts_language_symbol_count(language); ++s) {
    const std::string_view name = ts_language_symbol_name(language, static_cast<TSSymbol>(s));
    const bool is_word =
        std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); });
    if (is_word && ts_language_symbol_type(language, static_cast<TSSymbol>(s)) == TSSymbolTypeAnonymous)
      CHECK_MESSAGE((name == "end" || support::is_python_keyword(name)), name);
  }
}

TEST_CASE("a statement with rare characters is for the grammar; a text that cannot be divided has no shapes") {
  for (const char* rare : {"x = 1  # one", "x = \"\"\"a\nb\"\"\"", "x = r'a'", "x = 'a\\n'", "x = 0x1f", "x = 2j",
                           "x = 1_000", "x = 1 + \\\n  2", "\xc3\xa9 = 1"})
    CHECK(shapes(rare) == std::vector<std::string>{"?"});
  for (const char* lost : {"x = (1", "x = 1)", "x = 'a\ny = 2", "x = \"\"\"a\n"})
    CHECK(shapes(lost) == std::vector<std::string>{"lost"});
}

TEST_CASE("lines of one shape that follow each other are one name of the short text") {
  const std::string text = "def f():\n" + repeated("    a = g(b, 1)\n", 100) + "    # on\n" +
                           repeated("    a = g(b, 2)\n", 5) + "    del a[1:, 2]\n";
  cst::KnownShapes shapes;
  const auto shortened = cst::shorten(text, shapes);
  REQUIRE(shortened);
  CHECK(shortened->runs.size() == 2);
  CHECK(shortened->text == "def f():\n    a = g(b, 1)\n    _\n    # on\n    _\n    del a[1:, 2]\n");
  CHECK(difference_by_shape(text) == "");
  CHECK(!cst::shorten(repeated("a = 1\r\n", 1000), shapes));
}

TEST_CASE("the tree by shapes is the grammar's") {
  const std::string lines = repeated("    x = y\n", 300);
  for (const std::string& text : {"if a:\n" + lines,
                                  "if a:\n" + lines + "  z = 1\n",
                                  "if a:\n" + lines + "      z = 1\n",
                                  lines + "  x = y\n  x = y\n    x = y\n",
                                  "if a\n" + lines,
                                  "x = (\n" + lines,
                                  lines + "'",
                                  repeated("x = 1; y = 2\n", 300),
                                  repeated("if a: x = 1\n", 300),
                                  repeated("with T.sblock('a'):\n", 300),
                                  repeated("if a:\n    x = 1\nelse:\n    x = 2\n", 100),
                                  repeated("x = 1\n\n\t\ny = 2\n", 200),
                                  repeated("f(a,\n  (b, c)[1:2],\n**d)\n", 100),
                                  repeated("x = a +\n", 300),
                                  repeated("x in y z\n", 300),
                                  repeated("vi = T.axis.spatial(3, i)\nvj = S.axis.spatial(3, i)\n", 100),
                                  repeated("lambda: 1\n", 300),
                                  repeated("x = a.5\n", 300),
                                  repeated("x = 1.5.2\n", 300),
                                  repeated("x = a if b else c\nx = not a\n", 300)})
    CHECK_MESSAGE(difference_by_shape(text) == "", text);
}

TEST_CASE("words that the grammar takes for two are not remembered as a shape") {
  const std::string fill = repeated("f(a, b)[c] = d\n", 100);
  for (const char* joined : {"isnot", "notin"}) {
    cst::KnownShapes shapes;
    const std::string first = fill + repeated("c = x " + std::string(joined) + " x\n", 3);
    CHECK(difference_by_shape(first, shapes) == "");
    CHECK(difference_by_shape(first + "c = x bar x\n", shapes) == "");
    CHECK(difference_by_shape(fill + "c = x bar x\n", shapes) == "");
    CHECK(!is_syntax(first));
    CHECK(!is_syntax("c = x " + std::string(joined) + " x\n"));
  }
  CHECK(is_syntax("c = x is not y\nc = x not in y\n"));
}

TEST_CASE("lines with too little indentation are found in the whole text, also next to runs") {
  const std::string line = std::string(60, 'a') + " = x\n";
  CHECK(difference_by_shape("  " + line + repeated(line, 21) + "if x:\n" + line + "  " + line) == "");
  std::string text = "      " + line;
  for (int i = 0; i < 21; ++i) text += "    " + line;
  CHECK(difference_by_shape(text + "  if x:\n    " + line + "  " + line) == "");
}

TEST_CASE("a tab before the first statement") {
  CHECK(difference_by_shape(repeated("\tx = y\n", 300)) == "");
  CHECK(difference_by_shape("\tx = y\n" + repeated("        x = y\n", 300)) == "");
  CHECK(difference_by_shape("\n\tx = y\n" + repeated(" x = y\n", 300)) == "");
}

TEST_CASE("a table of shapes stays small, and a text of many shapes is left to the grammar") {
  cst::KnownShapes shapes;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "x = y" + repeated(" + z", i % 60) + repeated(" - z", i / 60) + "\n";
  CHECK(text.size() > std::size_t(256) << 10);
  CHECK(!cst::shorten(text, shapes));
  CHECK(difference_by_shape(text, shapes) == "");
  CHECK(difference_by_shape(repeated("x = y\n", 300), shapes) == "");
}

TEST_CASE("by shapes, nodes that lie too deep are cut off in the same places") {
  const std::string text = "if a:\n    if b:\n" + repeated("        x = f((y, (z, [1])))\n", 100);
  for (int depth = 1; depth < 16; ++depth) CHECK_MESSAGE(difference_by_shape(text, depth) == "", depth);
}

TEST_CASE("the tree by shapes is the grammar's: the corpus") {
  std::size_t files = 0;
  cst::KnownShapes shapes;
  // The second time the shapes of other files are known.
  for (int time = 0; time < 2; ++time)
    for (const char* folder : {"/docs/examples", "/tests/conformance/corpus", "/tests/fuzz/found"})
      for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(RLDB_SOURCE_DIR) + folder)) {
        if (!entry.is_regular_file() || entry.file_size() > 200'000) continue;
        ++files;
        INFO(entry.path().string());
        CHECK(difference_by_shape(golden::read(entry.path()), shapes) == "");
      }
  CHECK(files > 100);
}

TEST_CASE("the tree by shapes is the grammar's: edits at random") {
  static constexpr std::string_view kPieces[] = {"(",  ")", "]",   "\"",     "'",  "\"\"\"", "#",
                                                 "\n", ",", "=",   ":",      "\\", "T.axis", "if ",
                                                 "\t", ";", "not", "\n    ", ".",  "1.5"};
  const std::string start = std::string(testing::kModule) + repeated("x = f(a, 1)\n", 60);
  cst::KnownShapes shapes;
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    Vandal vandal(seed, kPieces);
    std::string text = start;
    for (int i = 0; i < 12; ++i) {
      const Vandal::Change c = vandal.change(text);
      text.replace(c.begin, c.end - c.begin, c.text);
      const std::string found = difference_by_shape(text, shapes);
      CHECK_MESSAGE(found == "", "seed " << seed << ", edit " << i << "\n" << text);
      if (!found.empty()) return;
      if (vandal.below(3) == 0) text = start;
    }
  }
}

}  // namespace rldb::frontend
