// Redisplay: brings a Frame to the terminal by writing the differences from the last one. It relies only on the bytes
// that it returns: the frame begins on the screen where the cursor was when it was first drawn.
//
// An entry higher than the screen is shown in part, around the cursor; when it is accepted, it is written in full.
#pragma once

#include <string>

#include "rldb/ui/terminal/layout.h"

namespace rldb::ui {

class Redisplay {
 public:
  // The cursor is on a row of its own, and none of our rows is on the screen.
  void forget();
  // The bytes that make the screen show the frame.
  std::string draw(Frame frame, int width, int height, bool color);
  // The same when the terminal's width has changed: it has rewrapped our lines, as `frame` does.
  std::string redraw(Frame frame, int width, int height, bool color);
  // Moves the cursor to the row below the frame; the list below the entry is erased.
  std::string finish(Frame frame, int width, int height, bool color);

 private:
  void move(ScreenPosition to);
  void write_row(int row, const Row& wanted, std::size_t from);
  void write_cells(const Row& wanted, std::size_t from);
  void set_style(std::string_view style);
  int row_of_terminal(const Frame& frame, int width) const;

  std::string out_;
  std::vector<Row> shown_;  // rows on the screen, from the first one of ours
  ScreenPosition cursor_;   // relative to it; column `width_`: after the last one, not wrapped yet
  std::string_view style_;
  int top_ = 0;  // row of the frame that is the first one shown
  int width_ = 80;
  bool color_ = false;
  bool drawn_ = false;
};

}  // namespace rldb::ui
