// Pager: shows the output of an entry a screenful at a time, as `more` does: the text arrives while it is shown, and
// stays on the terminal. A search goes on to the first line that has the text; if no line has it, the pages go on where
// they were. Keys without a meaning ring the bell; none reaches the next entry, except a `:`, which begins it.
//
// Not thread-safe: ScreenConsole calls it with its lock held.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

class Pager {
 public:
  explicit Pager(Console& to) : to_(to) {}

  // For a new entry; false: without pages.
  void begin(bool on);
  // Shows what a search has held back.
  void end();
  void write(std::string_view text);
  // Rows that were written beside it.
  void took_rows(int rows) { rows_left_ -= rows; }
  void turn_off() { on_ = false; }

  bool on() const { return on_; }
  bool dropped() const { return dropped_; }  // the reader has left the rest of the output out
  int column() const { return column_; }

 private:
  enum class Answer { Page, HalfPage, Line, Rest, Stop, Find, None };
  Answer ask();
  Answer answer_of(const std::string& key);
  bool read_sought();
  void show_question(bool again);
  void hold(std::string_view text);
  std::size_t find_sought() const;
  static int page();

  Console& to_;
  bool on_ = false, dropped_ = false;
  int rows_left_ = 0, column_ = 0;
  // The search: what was written since it began, up to a line that has the text.
  bool searching_ = false;
  std::string sought_, held_;
  std::size_t looked_at_ = 0;  // of what is held: whole lines without the text
  std::string notice_;         // beside the next question
};

}  // namespace rldb::ui
