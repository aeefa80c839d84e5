// Redisplay: the escape sequences that turn the frame drawn last into the new one.
#include "rldb/ui/terminal/redisplay.h"

#include <algorithm>
#include <utility>

namespace rldb::ui {

namespace {

std::string up(int rows) { return rows > 0 ? "\033[" + std::to_string(rows) + "A" : std::string(); }

}  // namespace

void Redisplay::forget() {
  shown_.clear();
  cursor_ = {};
  top_ = 0;
  drawn_ = false;
}

void Redisplay::set_style(std::string_view style) {
  if (!color_ || style == style_) return;
  if (!style_.empty()) out_ += "\033[0m";
  if (!style.empty()) out_ += "\033[" + std::string(style) + "m";
  style_ = style;
}

// Rows below the last one shown are created by line breaks, which scroll where necessary.
void Redisplay::move(ScreenPosition to) {
  if (to == cursor_) return;
  set_style({});
  const int last = std::max(0, int(shown_.size()) - 1);
  if (to.row < cursor_.row) {
    out_ += '\r' + up(cursor_.row - to.row);
    cursor_ = {to.row, 0};
  } else if (to.row > cursor_.row) {
    const int down = std::min(to.row, last) - cursor_.row;
    out_ += '\r';
    if (down > 0) out_ += "\033[" + std::to_string(down) + "B";
    for (int row = std::max(cursor_.row, last); row < to.row; ++row) out_ += "\r\n";
    cursor_ = {to.row, 0};
  }
  if (to.column == cursor_.column) return;
  if (to.column < cursor_.column && to.column == cursor_.column - 1 && cursor_.column < width_) {
    out_ += '\b';
  } else {
    if (cursor_.column != 0) out_ += '\r';
    if (to.column > 0) out_ += "\033[" + std::to_string(to.column) + "C";
  }
  cursor_.column = to.column;
}

void Redisplay::write_cells(const Row& wanted, std::size_t from) {
  for (std::size_t i = from; i < wanted.cells.size(); ++i) {
    const Cell& cell = wanted.cells[i];
    set_style(cell.style);
    out_ += cell.text;
    cursor_.column += cell.columns;
    if (!cell.uncertain) continue;
    // Wherever the terminal's cursor is now.
    set_style({});
    out_ += "\r\033[" + std::to_string(std::min(cursor_.column, width_ - 1)) + "C";
    if (cursor_.column >= width_) cursor_.column = width_ - 1;
  }
  set_style({});
}

// Writes the cells of a row from the first one that differs.
void Redisplay::write_row(int row, const Row& wanted, std::size_t from) {
  const bool is_new = std::size_t(row) >= shown_.size();
  int column = 0;
  for (std::size_t i = 0; i < from; ++i) column += wanted.cells[i].columns;
  // At the end of a full row the terminal wraps by itself; it then knows that the two are one line.
  const bool wraps_here = row > 0 && from == 0 && cursor_ == ScreenPosition{row - 1, width_} &&
                          shown_[std::size_t(row) - 1].wraps && shown_[std::size_t(row) - 1].columns == width_;
  if (wraps_here && !wanted.cells.empty()) {
    cursor_ = {row, 0};
  } else if (wraps_here && is_new) {
    out_ += " \r";
    cursor_ = {row, 0};
  } else {
    move({row, column});
  }
  write_cells(wanted, from);
  const int before = is_new ? 0 : shown_[std::size_t(row)].columns;
  if (wanted.columns < before) out_ += "\033[K";
}

std::string Redisplay::draw(Frame frame, int width, int height, bool color) {
  width_ = std::max(1, width);
  color_ = color;
  height = std::max(1, height);
  if (!drawn_) {
    out_ += "\r\033[J";
    cursor_ = {};
    shown_.clear();
    drawn_ = true;
  }
  const int rows = int(frame.rows.size());
  top_ = std::clamp(top_, std::max(0, frame.cursor.row - height + 1), frame.cursor.row);
  top_ = std::min(top_, std::max(0, rows - height));
  const int shown_rows = std::min(rows - top_, height);
  for (int row = 0; row < shown_rows; ++row) {
    Row& wanted = frame.rows[std::size_t(top_ + row)];
    const bool is_new = std::size_t(row) >= shown_.size();
    if (!is_new && shown_[std::size_t(row)].cells == wanted.cells) {
      shown_[std::size_t(row)].wraps = wanted.wraps;
      continue;
    }
    std::size_t from = 0;
    if (!is_new) {
      const auto& before = shown_[std::size_t(row)].cells;
      while (from < before.size() && from < wanted.cells.size() && before[from] == wanted.cells[from]) ++from;
    }
    write_row(row, wanted, from);
    if (is_new)
      shown_.push_back(std::move(wanted));
    else
      shown_[std::size_t(row)] = std::move(wanted);
  }
  if (shown_.size() > std::size_t(shown_rows)) {
    move({shown_rows, 0});
    out_ += "\033[J";
    shown_.resize(std::size_t(shown_rows));
    // The row of the cursor is no longer ours; it stays on screen below.
  }
  move({frame.cursor.row - top_, frame.cursor.column});
  return std::exchange(out_, {});
}

// The row in which a terminal that rewrapped our rows has its cursor. After a line that has become exactly as wide as
// the terminal it stays in that line's last row; we, and our drawing, are one row further down.
int Redisplay::row_of_terminal(const Frame& frame, int width) const {
  const int row = frame.cursor.row;
  const bool behind_full_row = row > 0 && frame.cursor.column == 0 && frame.rows[std::size_t(row)].cells.empty() &&
                               frame.rows[std::size_t(row) - 1].columns == width;
  const bool drawn_so = cursor_.row > 0 && cursor_.column == 0 && shown_[std::size_t(cursor_.row) - 1].wraps;
  return behind_full_row && !drawn_so ? row - 1 : row;
}

std::string Redisplay::redraw(Frame frame, int width, int height, bool color) {
  if (!drawn_) return draw(std::move(frame), width, height, color);
  const bool whole = top_ == 0 && int(shown_.size()) <= height && int(frame.rows.size()) <= height;
  out_ += '\r';
  out_ += whole ? up(std::min(row_of_terminal(frame, width), height - 1)) : "\033[H\033[2J";
  forget();
  return draw(std::move(frame), width, height, color);
}

std::string Redisplay::finish(Frame frame, int width, int height, bool color) {
  const int rows = int(frame.rows.size());
  if (drawn_ && rows > height) {
    out_ += '\r' + up(cursor_.row);
    forget();
  }
  // All rows, including those that scroll away.
  const bool all = rows > height;
  frame.cursor = {rows - 1, frame.rows.back().columns};
  if (frame.cursor.column >= width) frame.cursor.column = width - 1;
  std::string bytes = draw(std::move(frame), width, all ? rows : height, color);
  bytes += "\r\n";
  forget();
  return bytes;
}

}  // namespace rldb::ui
