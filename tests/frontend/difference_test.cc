// The difference of two texts, as the parser is told of an edit.
#include <doctest/doctest.h>
#include <tree_sitter/api.h>

#include <algorithm>
#include <string>

#include "frontend/cst/ts_parser.h"

using namespace rldb::frontend;

namespace {

void check_place(const std::string& text, std::uint32_t byte, TSPoint at) {
  const auto begin = text.begin();
  CHECK(at.row == std::count(begin, begin + byte, '\n'));
  const std::size_t line = text.substr(0, byte).rfind('\n');
  CHECK(at.column == (line == std::string::npos ? byte : byte - line - 1));
}

// The edit makes `after` of `before`, and is as short as one can be.
void check_difference(const std::string& before, const std::string& after) {
  const TSInputEdit d = cst::difference(before, after);
  REQUIRE(d.start_byte <= std::min(d.old_end_byte, d.new_end_byte));
  CHECK(before.substr(0, d.start_byte) == after.substr(0, d.start_byte));
  CHECK(before.substr(d.old_end_byte) == after.substr(d.new_end_byte));
  if (d.start_byte < std::min(d.old_end_byte, d.new_end_byte)) {
    CHECK(before[d.start_byte] != after[d.start_byte]);
    CHECK(before[d.old_end_byte - 1] != after[d.new_end_byte - 1]);
  }
  check_place(before, d.start_byte, d.start_point);
  check_place(before, d.old_end_byte, d.old_end_point);
  check_place(after, d.new_end_byte, d.new_end_point);
}

}  // namespace

TEST_CASE("the difference of two texts: edits at every kind of place in a text of several blocks") {
  std::string text;
  for (int i = 0; text.size() < 5000; ++i) text += "line " + std::to_string(i) + (i % 3 == 0 ? "\n\n" : "\n");
  const std::size_t size = text.size();
  for (const std::size_t at : {std::size_t(0), std::size_t(1), std::size_t(1023), std::size_t(1024), std::size_t(1025),
                               std::size_t(2500), size - 1025, size - 1024, size - 1, size})
    for (const std::size_t removed : {0, 1, 9, 1500})
      for (const char* added : {"", "x", "\n", "two\nlines\n"}) {
        std::string after = text;
        after.replace(at, std::min(removed, size - at), added);
        check_difference(text, after);
        check_difference(after, text);
      }
}

TEST_CASE("the difference of two texts: short ones, repetitions, no line end") {
  check_difference("", "");
  check_difference("", "x");
  check_difference("aaaa", "aaaaaaa");
  check_difference("a\n", "a");
  const std::string same(3000, 'a'), lines(3000, '\n');
  check_difference(same, same + "a");
  check_difference(lines, lines + "\n\n");
  check_difference(same, lines);
}
