// Redisplay: brings a Frame to the terminal by writing what differs from the last one. Knows only the bytes that it
// gives back: where the frame begins on the screen is where the cursor was when it was first drawn.
//
// An entry higher than the screen is shown in part, around the cursor; when it is accepted, it is written as a whole.
#pragma once

#include <string>

#include "ui/term/layout.h"

namespace rldb::ui {

class Redisplay {
 public:
  // The cursor is on a row of its own, nothing of ours is on the screen.
  void forget();
  // The bytes that make the screen show the frame.
  std::string draw(Frame frame, int width, int height, bool color);
  // The same where the terminal has another width now: it has wrapped our lines anew, as `frame` has them.
  std::string redraw(Frame frame, int width, int height, bool color);
  // The cursor to the row below the frame; what is listed below the entry is erased.
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
