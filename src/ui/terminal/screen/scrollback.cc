#include "rldb/ui/terminal/scrollback.h"

#include <algorithm>

#include "rldb/ui/terminal/styled_text.h"

namespace rldb::ui {

namespace {

// Cuts cells into rows of the width.
std::vector<Row> wrapped(std::vector<Cell> cells, int width) {
  std::vector<Row> rows(1);
  for (Cell& cell : cells) {
    if (cell.columns > width) continue;
    if (rows.back().columns + cell.columns > width) rows.emplace_back();
    rows.back().columns += cell.columns;
    rows.back().cells.push_back(std::move(cell));
  }
  return rows;
}

}  // namespace

void Scrollback::append(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    append_to_line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    const bool both = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
    if (text[end] == '\n' || both) {
      new_line();
    } else {
      bytes_ -= lines_.back().size();
      lines_.back().clear();
    }
    text.remove_prefix(end + (both ? 2 : 1));
  }
}

void Scrollback::append_to_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t room = kLongestLine - std::min(kLongestLine, lines_.back().size());
    const std::string_view piece = text.substr(0, room);
    lines_.back() += piece;
    bytes_ += piece.size();
    text.remove_prefix(piece.size());
    if (!text.empty()) new_line();
  }
}

// A style still open at the end of a line continues in the next.
void Scrollback::new_line() {
  const std::string_view style = style_after(lines_.back(), {});
  lines_.push_back(style.empty() ? std::string() : "\033[" + std::string(style) + "m");
  bytes_ += lines_.back().size();
  while (lines_.size() > 1 && (lines_.size() > kMostLines || bytes_ > kMostBytes)) {
    bytes_ -= lines_.front().size();
    lines_.pop_front();
  }
}

std::vector<Row> Scrollback::open_line(int width) const {
  std::string_view style;
  return wrapped(styled_cells(lines_.back(), style), std::max(1, width));
}

std::vector<Row> Scrollback::tail(int width, std::size_t rows, bool without_open) const {
  std::vector<Row> out;
  std::size_t i = lines_.size();
  if (std::string_view style; without_open || styled_cells(lines_.back(), style).empty()) --i;
  while (i-- > 0 && out.size() < rows) {
    std::string_view style;
    std::vector<Row> of_line = wrapped(styled_cells(lines_[i], style), std::max(1, width));
    for (std::size_t r = of_line.size(); r-- > 0 && out.size() < rows;) out.push_back(std::move(of_line[r]));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace rldb::ui
