#include "rldb/ui/render/text_diff.h"

#include <doctest/doctest.h>

#include "ui/render/diff_rows.h"

using namespace rldb::ui;

TEST_CASE("equal texts have no difference") { CHECK(text_diff("a\nb\n", "a\nb\n", "x", "y").empty()); }

TEST_CASE("a changed line stands in its context") {
  CHECK(text_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "x", "y") ==
        "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("changes far apart are hunks of their own") {
  std::string before, after;
  for (int i = 0; i < 40; ++i) {
    before += std::to_string(i) + "\n";
    after += (i == 3 || i == 30 ? "x" : std::to_string(i)) + std::string("\n");
  }
  const std::string diff = text_diff(before, after, "a", "b");
  CHECK(diff.find("@@ -1,7 +1,7 @@") != std::string::npos);
  CHECK(diff.find("@@ -28,7 +28,7 @@") != std::string::npos);
}

TEST_CASE("insertion and deletion at the ends") {
  CHECK(text_diff("", "a\n", "x", "y") == "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
  CHECK(text_diff("a\nb\n", "b\n", "x", "y") == "--- x\n+++ y\n@@ -1,2 +1,1 @@\n-a\n b\n");
}

namespace {

std::string words(const DiffSide& side) {
  std::string text;
  for (const ByteRange& r : side.changed)
    text += (text.empty() ? "" : "|") + side.line->text.substr(r.begin, r.end - r.begin);
  return text;
}

}  // namespace

TEST_CASE("lines with words in common are pairs, and the words that differ are marked") {
  const auto hunks = diff_hunks("lv = R.add(x, y)\nq\n", "n = T.int64()\nlv = R.multiply(x, z)\nq\n");
  REQUIRE(hunks.size() == 1);
  const auto rows = diff_rows(hunks[0]);
  REQUIRE(rows.size() == 3);
  CHECK(!rows[0].left.line);
  CHECK(rows[0].right.line->text == "n = T.int64()");
  CHECK(words(rows[1].left) == "add|y");
  CHECK(words(rows[1].right) == "multiply|z");
  CHECK(rows[2].left.line == rows[2].right.line);
}

TEST_CASE("lines with little in common are no pair") {
  const auto rows = diff_rows(diff_hunks("aaa bbb ccc\n", "1 + 2\n")[0]);
  REQUIRE(rows.size() == 2);
  CHECK(!rows[0].right.line);
  CHECK(!rows[1].left.line);
}

TEST_CASE("colours mark lines, and the changed words in reverse") {
  DiffOptions options;
  options.color = true;
  const std::string diff = text_diff("same\nf(a, b)\n", "same\nf(a, c)\n", "x", "y", options);
  CHECK(diff ==
        "--- x\n+++ y\n\033[36m@@ -1,2 +1,2 @@\033[0m\n same\n\033[31m-f(a, \033[7mb\033[27m)\033[0m\n"
        "\033[32m+f(a, \033[7mc\033[27m)\033[0m\n");
}

TEST_CASE("the same diff with and without colours, but for the colours") {
  std::string before, after;
  for (int i = 0; i < 200; ++i) {
    before += "lv" + std::to_string(i) + " = R.add(x, y)\n";
    if (i % 7 != 3) after += "lv" + std::to_string(i) + (i % 5 ? " = R.add(x, y)\n" : " = R.multiply(x, y)\n");
  }
  DiffOptions options;
  options.color = true;
  std::string painted = text_diff(before, after, "x", "y", options);
  for (std::size_t at = 0; (at = painted.find('\033', at)) != std::string::npos;)
    painted.erase(at, painted.find('m', at) + 1 - at);
  CHECK(painted == text_diff(before, after, "x", "y"));
}

TEST_CASE("side by side: numbers on both sides, long lines go on below") {
  DiffOptions options;
  options.layout = DiffLayout::SideBySide;
  options.width = 43;
  const auto hunks = diff_hunks("a\nshort\nz\n", "a\nshort and much longer\nnew\nz\n");
  CHECK(show_diff(hunks, "before", "after", options) ==
        "before               | after\n"
        "@@ -1,3 +1,4 @@\n"
        "    1  a             |     1  a\n"
        "    2 -short         |     2 +short and muc\n"
        "                     |       +h longer\n"
        "                     |     3 +new\n"
        "    3  z             |     4  z\n");
}

TEST_CASE("many changed lines are paired in their order, within a bound") {
  std::string before, after;
  for (int i = 0; i < 3000; ++i) before += "a" + std::to_string(i) + " x\n", after += "b" + std::to_string(i) + " x\n";
  const auto hunks = diff_hunks(before, after);
  REQUIRE(hunks.size() == 1);
  const auto rows = diff_rows(hunks[0]);
  CHECK(rows.size() == 3000);
  CHECK(words(rows[7].left) == "a7");
}
