// ScreenModel: the contents of a terminal's screen after it was sent some bytes: the part of a VT100 that the line
// editor uses, with a scrollback. Anything else is counted, so that a test notices. Wide characters are those three or
// four bytes long, except the replacement character.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::pty {

class ScreenModel {
 public:
  ScreenModel(int width, int height) : width_(width), height_(height), rows_(1) {}

  void write(std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size();) i += take(bytes.substr(i));
  }
  // Without blanks at line ends and empty lines at the end.
  std::string text() const {
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (const std::string& cell : row) line += cell;
      while (line.ends_with(' ')) line.pop_back();
      out += line + '\n';
    }
    while (out.ends_with("\n\n")) out.pop_back();
    return out;
  }
  // Changes the width, like a terminal that rewraps lines: the rows over which a full one continued are one line.
  void resize(int width) {
    std::vector<std::vector<std::string>> lines;
    std::size_t cursor_line = 0, cursor_cell = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool goes_on = i > 0 && wrapped_.count(int(i) - 1) != 0;
      if (!goes_on) lines.emplace_back();
      if (int(i) == row_) cursor_line = lines.size() - 1, cursor_cell = lines.back().size() + std::size_t(column_);
      lines.back().insert(lines.back().end(), rows_[i].begin(), rows_[i].end());
    }
    rows_.clear();
    wrapped_.clear();
    width_ = width;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i == cursor_line) {
        // After a line that fills its last row the cursor stays in that row.
        const bool full = cursor_cell > 0 && cursor_cell == lines[i].size() && cursor_cell % std::size_t(width) == 0;
        row_ = int(rows_.size() + cursor_cell / std::size_t(width)) - (full ? 1 : 0);
        column_ = full ? width : int(cursor_cell % std::size_t(width));
      }
      for (std::size_t at = 0; at == 0 || at < lines[i].size(); at += std::size_t(width)) {
        if (at > 0) wrapped_.insert(int(rows_.size()) - 1);
        const std::size_t end = std::min(at + std::size_t(width), lines[i].size());
        rows_.emplace_back(lines[i].begin() + std::ptrdiff_t(at), lines[i].begin() + std::ptrdiff_t(end));
      }
    }
    if (row_ >= int(rows_.size())) rows_.resize(std::size_t(row_) + 1);
    top_ = std::max(0, row_ - height_ + 1);
  }
  int row() const { return row_; }  // from the first line ever written
  int column() const { return std::min(column_, width_ - 1); }
  int unknown() const { return unknown_; }

 private:
  std::size_t take(std::string_view bytes) {
    const char c = bytes[0];
    if (c == '\033') return escape(bytes);
    if (c == '\r') column_ = 0;
    if (c == '\n') {
      wrapped_.erase(row_);
      down();
    }
    if (c == '\b') column_ = std::max(0, std::min(column_, width_ - 1) - 1);
    if (static_cast<unsigned char>(c) < ' ') return 1;
    std::size_t n = 1;
    while (n < bytes.size() && (static_cast<unsigned char>(bytes[n]) & 0xC0) == 0x80) ++n;
    const std::string_view character = bytes.substr(0, n);
    put(std::string(character), n >= 3 && character != "\xEF\xBF\xBD" ? 2 : 1);
    return n;
  }

  void put(const std::string& character, int columns) {
    if (column_ + columns > width_) {
      if (column_ == width_) wrapped_.insert(row_);
      column_ = 0;
      down();
    }
    auto& cells = rows_[std::size_t(row_)];
    if (cells.size() < std::size_t(column_ + columns)) cells.resize(std::size_t(column_ + columns), " ");
    cells[std::size_t(column_)] = character;
    for (int i = 1; i < columns; ++i) cells[std::size_t(column_ + i)].clear();
    column_ += columns;
  }

  void down() {
    if (++row_ >= int(rows_.size())) rows_.emplace_back();
    top_ = std::max(top_, row_ - height_ + 1);
  }

  std::size_t escape(std::string_view bytes) {
    std::size_t end = 2;
    while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) ++end;
    if (bytes.size() < 2 || bytes[1] != '[' || end >= bytes.size()) {
      ++unknown_;
      return bytes.size();
    }
    const std::string numbers(bytes.substr(2, end - 2));
    const int n = numbers.empty() || numbers[0] < '0' || numbers[0] > '9' ? 0 : std::stoi(numbers);
    obey(bytes[end], n);
    return end + 1;
  }

  void obey(char what, int n) {
    auto& cells = rows_[std::size_t(row_)];
    switch (what) {
      case 'A':
        row_ = std::max(top_, row_ - std::max(1, n));
        break;
      case 'B':
        row_ = std::min({top_ + height_ - 1, row_ + std::max(1, n), int(rows_.size()) - 1});
        break;
      case 'C':
        column_ = std::min(width_ - 1, column_ + std::max(1, n));
        break;
      case 'H':
        row_ = top_;
        column_ = 0;
        break;
      case 'K':
      case 'J':
        if (n == 2) {
          for (std::size_t i = std::size_t(top_); i < rows_.size(); ++i) rows_[i].clear();
          break;
        }
        if (column_ >= width_) ++unknown_;  // terminals differ here
        cells.resize(std::min(cells.size(), std::size_t(column_)));
        if (what == 'J') rows_.resize(std::size_t(row_) + 1);
        if (what == 'J') wrapped_.erase(wrapped_.lower_bound(row_), wrapped_.end());
        break;
      case 'm':
        break;
      default:
        ++unknown_;
    }
  }

  int width_, height_;
  std::vector<std::vector<std::string>> rows_;
  std::set<int> wrapped_;  // rows whose line continues in the next one
  int row_ = 0, column_ = 0, top_ = 0;
  int unknown_ = 0;
};

}  // namespace rldb::pty
