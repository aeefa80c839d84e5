// Lines of output as they came; rows of them are made for the width that is asked for.
#include "rldb/ui/terminal/scrollback.h"

#include <algorithm>

#include "rldb/ui/terminal/styled_text.h"

namespace rldb::ui {

namespace {

constexpr int kIndent = 2;      // of rows that continue sentences
constexpr int kNarrowest = 16;  // below that words do not fit anyway

bool is_blank(const Cell& cell) { return cell.text == " "; }

void add(std::vector<Row>& rows, const Cell& cell, int width) {
  if (cell.columns > width) return;
  if (rows.back().columns + cell.columns > width) rows.emplace_back();
  rows.back().columns += cell.columns;
  rows.back().cells.push_back(cell);
}

// Cuts cells into rows of the width.
std::vector<Row> wrapped(const std::vector<Cell>& cells, int width) {
  std::vector<Row> rows(1);
  for (const Cell& cell : cells) add(rows, cell, width);
  return rows;
}

// The same, between words.
std::vector<Row> wrapped_sentences(const std::vector<Cell>& cells, int width) {
  std::vector<Row> rows(1);
  for (std::size_t at = 0; at < cells.size();) {
    std::size_t word = at;
    while (word < cells.size() && is_blank(cells[word])) ++word;
    std::size_t end = word;
    int columns = int(word - at);
    while (end < cells.size() && !is_blank(cells[end])) columns += cells[end++].columns;
    if (rows.back().columns > kIndent && rows.back().columns + columns > width) {
      rows.emplace_back();
      for (int i = 0; i < kIndent; ++i) add(rows, {" ", 1, false, {}}, width);
      at = word;
    }
    for (; at < end; ++at) add(rows, cells[at], width);
  }
  return rows;
}

}  // namespace

void Scrollback::append(std::string_view text, bool prose) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    std::string_view style;
    if (prose && end != 0 && styled_cells(lines_.back().text, style).empty()) lines_.back().prose = text[0] != ' ';
    append_to_line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    const bool both = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
    if (text[end] == '\n' || both) {
      new_line();
    } else {
      bytes_ -= lines_.back().text.size();
      lines_.back().text.clear();
    }
    text.remove_prefix(end + (both ? 2 : 1));
  }
}

void Scrollback::append_to_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t room = kLongestLine - std::min(kLongestLine, lines_.back().text.size());
    const std::string_view piece = text.substr(0, room);
    lines_.back().text += piece;
    bytes_ += piece.size();
    text.remove_prefix(piece.size());
    if (!text.empty()) new_line();
  }
}

// A style still open at the end of a line continues in the next.
void Scrollback::new_line() {
  const std::string_view style = style_after(lines_.back().text, {});
  lines_.push_back({style.empty() ? std::string() : "\033[" + std::string(style) + "m"});
  bytes_ += lines_.back().text.size();
  while (lines_.size() > 1 && (lines_.size() > kMostLines || bytes_ > kMostBytes)) {
    bytes_ -= lines_.front().text.size();
    lines_.pop_front();
  }
}

std::vector<Row> Scrollback::open_line(int width) const { return rows_of(lines_.back(), width); }

std::vector<Row> Scrollback::rows_of(const Line& line, int width) {
  std::string_view style;
  const std::vector<Cell> cells = styled_cells(line.text, style);
  return line.prose && width >= kNarrowest ? wrapped_sentences(cells, width) : wrapped(cells, std::max(1, width));
}

std::vector<Row> Scrollback::tail(int width, std::size_t rows, bool without_open) const {
  std::vector<Row> out;
  std::size_t i = lines_.size();
  if (std::string_view style; without_open || styled_cells(lines_.back().text, style).empty()) --i;
  while (i-- > 0 && out.size() < rows) {
    std::vector<Row> of_line = rows_of(lines_[i], width);
    for (std::size_t r = of_line.size(); r-- > 0 && out.size() < rows;) out.push_back(std::move(of_line[r]));
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace rldb::ui
