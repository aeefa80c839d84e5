// Layout: an entry as rows of cells on a terminal of a given width: prompt, lines with their continuation prompts, the
// list below. Arithmetic only; redisplay.h brings it to the terminal.
#pragma once

#include <cstddef>
#include <optional>
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

// A line below the entry: its head, then the rest in a style of its own.
struct LineBelow {
  std::string head;
  std::string_view style = {};
  std::string rest = {};
  std::string_view rest_style = {};
};

struct Entry {
  std::string_view prompt;
  std::string_view prompt_style;
  std::string_view text;
  std::size_t point = 0;
  const std::vector<TextStyle>* styles = nullptr;
  const std::vector<LineBelow>* below = nullptr;
  std::string_view suggested = {};  // appears after the text and the cursor
};

inline constexpr std::string_view kContinuation = "...> ";

Frame lay_out(const Entry& entry, int width);
// A candidate a line, each with the line about it, as far as `width` goes; of those that do not fit into `rows` lines
// the page with the selected one (the first), and which these are.
std::vector<LineBelow> menu_lines(const Candidates& candidates, std::optional<std::size_t> selected, int width,
                                  int rows);

}  // namespace rldb::ui
