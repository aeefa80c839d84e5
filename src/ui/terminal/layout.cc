// Layout: cuts an entry into rows of cells of the terminal's width.
#include "rldb/ui/terminal/layout.h"

#include <algorithm>

#include "rldb/ui/terminal/characters.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kSuggested = "2";

class Writer {
 public:
  Writer(Frame& frame, int width) : frame_(frame), width_(std::max(1, width)) { frame_.rows.emplace_back(); }

  ScreenPosition here() const { return {int(frame_.rows.size()) - 1, frame_.rows.back().columns}; }
  // Where the next character would go: not after the last column.
  ScreenPosition next_place() {
    if (frame_.rows.back().columns >= width_) wrap();
    return here();
  }
  void new_line() { frame_.rows.emplace_back(); }

  void text(std::string_view text, std::string_view style) {
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = next_character(text, i);
      character(text.substr(i, end - i), style);
      i = end;
    }
  }

  void character(std::string_view character, std::string_view style) {
    if (character == "\t") {
      next_place();
      const int used = frame_.rows.back().columns;
      blanks(std::min(8 - used % 8, width_ - used), style);
      return;
    }
    ShownCharacter shown = shown_character(character);
    if (shown.columns > width_) shown = {"?", 1, false};
    if (frame_.rows.back().columns + shown.columns > width_) wrap();
    put({std::move(shown.text), shown.columns, shown.uncertain, style});
  }

 private:
  void wrap() {
    // A terminal moves to the next row by itself only from a full one.
    frame_.rows.back().wraps = frame_.rows.back().columns == width_;
    frame_.rows.emplace_back();
  }
  void blanks(int n, std::string_view style) { put({std::string(std::size_t(n), ' '), n, false, style}); }
  void put(Cell cell) {
    frame_.rows.back().columns += cell.columns;
    frame_.rows.back().cells.push_back(std::move(cell));
  }

  Frame& frame_;
  int width_;
};

}  // namespace

Frame lay_out(const Entry& entry, int width) {
  Frame frame;
  Writer writer(frame, width);
  writer.text(entry.prompt, entry.prompt_style);
  static const std::vector<TextStyle> kNone;
  const std::vector<TextStyle>& styles = entry.styles ? *entry.styles : kNone;
  auto style = styles.begin();
  const std::string_view text = entry.text;
  bool placed = false;
  for (std::size_t i = 0; i < text.size();) {
    if (!placed && i >= entry.point) {
      if (text[i] == '\n') {
        frame.cursor = writer.next_place();
      } else {
        const std::size_t end = next_character(text, i);
        // A wide character may move to the next row, and the cursor with it.
        const int columns = text[i] == '\t' ? 1 : shown_character(text.substr(i, end - i)).columns;
        frame.cursor = writer.here();
        if (frame.cursor.column + std::min(columns, width) > width) frame.cursor = {frame.cursor.row + 1, 0};
      }
      placed = true;
    }
    if (text[i] == '\n') {
      writer.new_line();
      writer.text(kContinuation, entry.prompt_style);
      ++i;
      continue;
    }
    while (style != styles.end() && style->end <= i) ++style;
    const std::size_t end = next_character(text, i);
    writer.character(text.substr(i, end - i), style != styles.end() && style->begin <= i ? style->code : "");
    i = end;
  }
  if (!placed) frame.cursor = writer.next_place();
  writer.text(entry.suggested, kSuggested);
  if (entry.below) {
    for (std::size_t i = 0; i < entry.below->size(); ++i) {
      writer.new_line();
      writer.text((*entry.below)[i], entry.below_styles ? (*entry.below_styles)[i] : std::string_view());
    }
  }
  return frame;
}

std::vector<std::string> in_columns(const std::vector<std::string>& candidates, int width, int rows) {
  constexpr int kGap = 2;
  if (candidates.empty() || rows <= 0) return {};
  int longest = 1;
  for (const std::string& c : candidates) longest = std::max(longest, columns_of(c));
  const std::size_t columns = std::size_t(std::max(1, (width + 1) / (longest + kGap)));
  const std::size_t needed = (candidates.size() + columns - 1) / columns;
  const bool cut = needed > std::size_t(rows);
  // The last row shows how many are missing.
  const std::size_t shown_rows = cut ? std::size_t(rows - 1) : needed;
  std::vector<std::string> lines(shown_rows);
  const std::size_t shown = std::min(candidates.size(), shown_rows * columns);
  for (std::size_t i = 0; i < shown; ++i) {
    // Down the columns, like a directory listing; cut lists go along the rows.
    std::string& line = lines[cut ? i / columns : i % needed];
    if (!line.empty()) {
      const int at = (columns_of(line) + longest + kGap - 1) / (longest + kGap) * (longest + kGap);
      line.append(std::size_t(std::max(1, at - columns_of(line))), ' ');
    }
    line += candidates[i];
  }
  if (cut) lines.push_back("... and " + std::to_string(candidates.size() - shown) + " more");
  return lines;
}

}  // namespace rldb::ui
