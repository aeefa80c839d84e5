// Scrollback: recent output in screen mode, by lines; gives rows of it for a pane of any
// width.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/terminal/layout.h"

namespace rldb::ui {

class Scrollback {
 public:
  static constexpr std::size_t kMostLines = 5000;
  static constexpr std::size_t kMostBytes = std::size_t(4) << 20;
  static constexpr std::size_t kLongestLine = std::size_t(1) << 14;  // then a new one begins

  // A carriage return restarts the open line, as a line of progress does. Lines of prose that do not begin with a blank
  // are broken between words.
  void append(std::string_view text, bool prose = false);
  void end_line() {
    if (!lines_.back().text.empty()) new_line();
  }
  // The last rows, at most `rows` of them; without the line still open, or with it if it is not empty.
  std::vector<Row> tail(int width, std::size_t rows, bool without_open) const;
  // At least one row.
  std::vector<Row> open_line(int width) const;

 private:
  struct Line {
    std::string text;
    bool prose = false;
  };
  static std::vector<Row> rows_of(const Line& line, int width);
  void new_line();
  void append_to_line(std::string_view text);
  std::deque<Line> lines_{Line()};  // the last one is open
  std::size_t bytes_ = 0;
};

}  // namespace rldb::ui
