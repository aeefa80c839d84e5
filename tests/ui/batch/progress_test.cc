#include "ui/batch/progress.h"

#include <doctest/doctest.h>

using namespace rldb::ui;

TEST_CASE("progress: a bar where there is room, never more columns than there are") {
  CHECK(progress_line(0.5, "12 bindings, 40 tries", 80) == "[##########..........] 12 bindings, 40 tries");
  CHECK(progress_line(0, "done", 80) == "[....................] done");
  CHECK(progress_line(7, "done", 80) == "[####################] done");
  CHECK(progress_line(-1, "done", 80) == "[....................] done");
  CHECK(progress_line(std::nullopt, "12 bindings", 80) == "12 bindings");
  // The bar is dropped first, then the end of the text.
  CHECK(progress_line(0.5, "12 bindings, 3 functions, 40 tries", 42) == "12 bindings, 3 functions, 40 tries");
  CHECK(progress_line(0.5, "12 bindings, 40 tries", 11) == "12 bindings");
  CHECK(progress_line(0.5, "12 bindings", 0).empty());
  CHECK(progress_line(0.5, "12 bindings", -3).empty());
  for (int columns = 0; columns < 90; ++columns)
    CHECK(progress_line(0.3, "12 bindings, 3 functions, 40 tries", columns).size() <= std::size_t(columns));
}

// It contains names of files and functions.
TEST_CASE("progress: the terminal obeys nothing of the text, and no character is cut in two") {
  CHECK(progress_line(std::nullopt, "001_\033[2J\n.py", 80) == "001_^[[2J^J.py");
  CHECK(progress_line(std::nullopt, "größe", 3) == "grö");
  CHECK(progress_line(std::nullopt, "größe", 4) == "größ");
  CHECK(progress_line(0.5, "größe", 28) == "[##########..........] größe");
  CHECK(progress_line(0.5, "größe", 27) == "größe");
}
