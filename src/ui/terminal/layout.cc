// Layout: cuts an entry into rows of cells of the terminal's width.
#include "rldb/ui/terminal/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ui/terminal/characters.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kSuggested = "2", kAbout = "2", kSelected = "7";

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
    for (const LineBelow& line : *entry.below) {
      writer.new_line();
      writer.text(line.head, line.style);
      writer.text(line.rest, line.rest_style);
    }
  }
  return frame;
}

namespace {

// With a mark where it is cut.
std::string shortened(std::string_view text, int width) {
  constexpr std::string_view kCut = "..";
  if (columns_of(text) <= width || width <= int(kCut.size())) return first_columns(text, width);
  return first_columns(text, width - int(kCut.size())) + std::string(kCut);
}

}  // namespace

std::vector<LineBelow> menu_lines(const Candidates& candidates, std::optional<std::size_t> selected, int width,
                                  int rows) {
  constexpr int kGap = 2;
  if (candidates.empty() || rows <= 0) return {};
  const bool cut = candidates.size() > std::size_t(rows);
  const std::size_t page = std::size_t(cut ? std::max(1, rows - 1) : rows);
  const std::size_t first = selected.value_or(0) / page * page;
  const std::size_t end = std::min(candidates.size(), first + page);
  int longest = 1;
  for (std::size_t i = first; i < end; ++i) longest = std::max(longest, columns_of(candidates[i].text));
  const int column = std::min(longest, std::max(1, width / 2));
  std::vector<LineBelow> lines;
  for (std::size_t i = first; i < end; ++i) {
    LineBelow line{first_columns(candidates[i].text, width), i == selected ? kSelected : std::string_view()};
    const int blanks = std::max(0, column - columns_of(line.head)) + kGap;
    const int left = width - columns_of(line.head) - blanks;
    if (!candidates[i].about.empty() && left > 0) {
      line.rest = std::string(std::size_t(blanks), ' ') + shortened(candidates[i].about, left);
      line.rest_style = kAbout;
    }
    lines.push_back(std::move(line));
  }
  if (cut && rows > 1) lines.push_back({fmt::format("{} to {} of {}", first + 1, end, candidates.size()), kAbout});
  return lines;
}

}  // namespace rldb::ui
