// Layout: an entry as rows of cells on a terminal of a given width: prompt, lines with their continuation prompts, the
// list below. Arithmetic only; redisplay.h brings it to the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/terminal/line_editor.h"

namespace rldb::ui {

struct Cell {
  std::string text;  // one character, or the blanks of a tab
  int columns = 0;
  bool uncertain = false;  // terminals differ in how wide they draw it
  std::string_view style;  // parameters of an SGR sequence, static
  bool operator==(const Cell&) const = default;
};

struct Row {
  std::vector<Cell> cells;
  int columns = 0;
  bool wraps = false;  // its line continues in the next row
  bool operator==(const Row&) const = default;
};

struct ScreenPosition {
  int row = 0;
  int column = 0;
  bool operator==(const ScreenPosition&) const = default;
};

struct Frame {
  std::vector<Row> rows;
  ScreenPosition cursor;
};

struct Entry {
  std::string_view prompt;
  std::string_view prompt_style;
  std::string_view text;
  std::size_t point = 0;
  const std::vector<TextStyle>* styles = nullptr;
  const std::vector<std::string>* below = nullptr;              // lines
  const std::vector<std::string_view>* below_styles = nullptr;  // of these lines
  std::string_view suggested = {};                              // appears after the text and the cursor
};

inline constexpr std::string_view kContinuation = "...> ";

Frame lay_out(const Entry& entry, int width);
// Candidates in columns, at most `rows` lines of them.
std::vector<std::string> in_columns(const std::vector<std::string>& candidates, int width, int rows);

}  // namespace rldb::ui
