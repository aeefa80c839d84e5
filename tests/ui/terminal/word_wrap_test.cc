#include "ui/terminal/word_wrap.h"

#include <doctest/doctest.h>

using namespace rldb::ui;

TEST_CASE("sentences are broken between words, lines of code and listings stay") {
  CHECK(break_between_words("one two three four five\n", 80) == "one two three four five\n");
  CHECK(break_between_words("error: one two three four\nnote\n", 18) == "error: one two\n  three four\nnote\n");
  CHECK(break_between_words("   12 | lv = R.add(x, x) + R.add(y, y)\n", 18) ==
        "   12 | lv = R.add(x, x) + R.add(y, y)\n");
  CHECK(break_between_words("\033[1;31merror:\033[0m one two\n", 18) == "\033[1;31merror:\033[0m one two\n");
  CHECK(break_between_words("a_word_that_is_longer_than_it and more\n", 18) ==
        "a_word_that_is_longer_than_it\n  and more\n");
  CHECK(break_between_words("   1    lv = R.add(x, x)\n", 18) == "   1    lv =\n          R.add(x,\n          x)\n");
  CHECK(break_between_words("    lv = R.add(x, x)\n", 18) == "    lv = R.add(x, x)\n");  // source
  CHECK(break_between_words("    2 |   lv = R.add(x)\n      |        ^~~~~ here\n", 18) ==
        "    2 |   lv = R.add(x)\n      |        ^~~~~ here\n");
  CHECK(break_between_words("", 18).empty());
  CHECK(break_between_words("\n\n", 18) == "\n\n");
  CHECK(break_between_words("never in a narrow terminal", 8) == "never in a narrow terminal");
  CHECK(break_between_words("no line break at the end", 18) == "no line break at\n  the end");
}
