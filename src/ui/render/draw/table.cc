#include "rldb/ui/render/table.h"

#include <algorithm>
#include <string_view>

namespace rldb::ui {

std::size_t width_of(std::string_view text) {
  return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string cut(std::string_view text, std::size_t width) {
  if (width_of(text) <= width || width < 3) return std::string(text);
  std::size_t end = 0, columns = 0;
  for (; end < text.size(); ++end) {
    if ((text[end] & 0xC0) != 0x80 && ++columns > width - 3) break;
  }
  return std::string(text.substr(0, end)) + "...";
}

namespace {

constexpr std::size_t kGap = 2;  // blanks between columns

// Narrows the widest column until the rows fit or no column is wide.
void fit(std::vector<std::size_t>& widths, std::size_t most) {
  constexpr std::size_t kNarrow = 8;
  std::size_t total = 0;
  for (const std::size_t w : widths) total += w > 0 ? w + kGap : 0;
  while (total > most + kGap) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= kNarrow) return;
    --*widest, --total;
  }
}

}  // namespace

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(rows_[0].size(), 0);
  for (std::size_t c = 0; c < widths.size(); ++c) {
    for (std::size_t r = 1; r < rows_.size(); ++r)
      if (c < rows_[r].size()) widths[c] = std::max(widths[c], width_of(rows_[r][c]));
    if (widths[c] > 0) widths[c] = std::max(widths[c], width_of(rows_[0][c]));
  }
  return widths;
}

std::string Table::text(std::size_t width) const {
  std::vector<std::size_t> widths = this->widths();
  if (width != std::size_t(-1)) fit(widths, width);
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    std::size_t column = 0;  // the column where the next cell begins
    for (std::size_t c = 0; c < row.size() && c < widths.size(); ++c) {
      if (widths[c] == 0) continue;
      line.append(column - std::min(column, width_of(line)), ' ');
      line += cut(row[c], widths[c]);
      column += widths[c] + kGap;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace rldb::ui
