// Reads colour escape sequences into cells and drops all others.
#include "rldb/ui/terminal/styled_text.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "rldb/ui/terminal/characters.h"

namespace rldb::ui {

namespace {

constexpr int kTab = 8;

// Cells keep views of their styles. Console output has few of them; a program that produces more than this is shown
// without colours.
std::string_view kept(std::string_view style) {
  constexpr std::size_t kMostStyles = 512, kLongest = 32;
  static std::set<std::string, std::less<>> styles;
  if (style.empty() || style.size() > kLongest) return {};
  if (const auto known = styles.find(style); known != styles.end()) return *known;
  if (styles.size() >= kMostStyles) return {};
  return *styles.insert(std::string(style)).first;
}

std::string_view combined(std::string_view style, std::string_view numbers) {
  if (numbers.empty() || numbers == "0") return {};
  if (numbers.starts_with("0;")) return kept(numbers.substr(2));
  return style.empty() ? kept(numbers) : kept(std::string(style) + ";" + std::string(numbers));
}

// A control sequence at the start of the text; its length is 0 when there is none.
struct Sequence {
  std::size_t length = 0;
  std::string_view numbers;
  char final = 0;
};

Sequence sequence_at(std::string_view text) {
  if (text.size() < 2 || text[0] != '\033' || text[1] != '[') return {};
  std::size_t end = 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  if (end >= text.size()) return {text.size(), {}, 0};
  return {end + 1, text.substr(2, end - 2), text[end]};
}

}  // namespace

std::string_view style_after(std::string_view line, std::string_view style) {
  for (std::size_t at = line.find('\033'); at != std::string_view::npos; at = line.find('\033', at + 1))
    if (const Sequence s = sequence_at(line.substr(at)); s.final == 'm') style = combined(style, s.numbers);
  return style;
}

std::vector<Cell> styled_cells(std::string_view line, std::string_view& style) {
  std::vector<Cell> cells;
  int column = 0;
  for (std::size_t i = 0; i < line.size();) {
    if (const Sequence s = sequence_at(line.substr(i)); s.length > 0) {
      if (s.final == 'm') style = combined(style, s.numbers);
      i += s.length;
      continue;
    }
    const std::size_t end = next_character(line, i);
    if (line[i] == '\t') {
      const int blanks = kTab - column % kTab;
      for (int n = 0; n < blanks; ++n) cells.push_back({" ", 1, false, style});
      column += blanks;
    } else {
      ShownCharacter shown = shown_character(line.substr(i, end - i));
      column += shown.columns;
      cells.push_back({std::move(shown.text), shown.columns, shown.uncertain, style});
    }
    i = end;
  }
  return cells;
}

Row clipped(const std::vector<Cell>& cells, int left, int width) {
  Row row;
  int column = 0;
  for (const Cell& cell : cells) {
    const int begin = column - left;
    column += cell.columns;
    if (begin < 0) continue;
    if (begin + cell.columns > width) break;
    // If half of a wide character is left of the edge, a blank takes its place.
    while (row.columns < begin) row.cells.push_back({" ", 1, false, {}}), ++row.columns;
    row.cells.push_back(cell);
    row.columns += cell.columns;
  }
  for (; row.columns < width; ++row.columns) row.cells.push_back({" ", 1, false, {}});
  return row;
}

void append_text(Row& row, std::string_view text, std::string_view style) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = next_character(text, i);
    ShownCharacter shown = shown_character(text.substr(i, end - i));
    row.columns += shown.columns;
    row.cells.push_back({std::move(shown.text), shown.columns, shown.uncertain, style});
    i = end;
  }
}

std::string text_of(const Row& row) {
  std::string text;
  std::string_view style;
  for (const Cell& cell : row.cells) {
    if (cell.style != style) {
      if (!style.empty()) text += "\033[0m";
      if (!cell.style.empty()) text += "\033[" + std::string(cell.style) + "m";
      style = cell.style;
    }
    text += cell.text;
  }
  if (!style.empty()) text += "\033[0m";
  return text;
}

}  // namespace rldb::ui
