// Screen: panes and command line as rows of cells.
#include <algorithm>
#include <iterator>

#include "rldb/ui/terminal/screen.h"
#include "rldb/ui/terminal/styled_text.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kTitle = "7", kFocused = "1;7", kCurrent = "7", kChanged = "1", kDim = "2";
constexpr std::string_view kSingleKey = "SingleKey", kScrolled = "scrolled back";

void set_style(Row& row, std::string_view style) {
  for (Cell& cell : row.cells) cell.style = style;
}

}  // namespace

Frame Screen::compose(const Frame& entry, int width, int height) {
  width = std::max(1, width);
  height = std::max(1, height);
  if (stale_ || width != width_ || height != height_) render(width, height);
  return with_command(entry.rows, entry.cursor, false);
}

Frame Screen::working(std::string_view progress, int width, int height) {
  width = std::max(1, width);
  height = std::max(1, height);
  if (boxes_.empty() || width != width_ || height != height_) render(width, height);
  std::vector<Row> rows;
  if (!progress.empty()) {
    std::string_view style = kDim;
    rows.push_back(clipped(styled_cells(progress, style), 0, width_));
  }
  if (rows.empty()) {  // the cursor after the last output
    rows = output_.open_line(width_);
    if (rows.back().columns >= width_) rows.emplace_back();
    const ScreenPosition end{int(rows.size()) - 1, rows.back().columns};
    return with_command(std::move(rows), end, true);
  }
  return with_command(std::move(rows), {0, 0}, false);
}

int Screen::command_rows() const {
  return boxes_.empty() ? std::max(1, height_ / 3) : std::max(1, boxes_.back().height - 1);
}

// ---- the panes ----

void Screen::render(int width, int height) {
  width_ = width;
  height_ = height;
  boxes_ = arrange(wanted_, width, height);
  if (std::none_of(boxes_.begin(), boxes_.end(), [&](const PaneBox& b) { return b.kind == focus_; }))
    focus_ = PaneKind::Command;
  const PaneBox& command = boxes_.back();
  std::vector<std::vector<Row>> parts(std::size_t(command.top));  // for each row of the screen, from left to right
  for (const PaneBox& box : boxes_)
    if (box.kind != PaneKind::Command) render_pane(box, parts);
  rows_.assign(parts.size(), {});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (Row& part : parts[i]) {
      if (rows_[i].columns > 0) append_text(rows_[i], "|", color_ ? kDim : std::string_view());
      rows_[i].columns += part.columns;
      std::move(part.cells.begin(), part.cells.end(), std::back_inserter(rows_[i].cells));
    }
  }
  stale_ = false;
}

// The current line is visible, with some lines around it; as long as it is, nothing moves.
void Screen::follow(State& s) const {
  const auto rows = std::size_t(std::max(1, s.rows));
  const std::size_t last = s.pane.count - std::min(s.pane.count, rows);
  if (s.following && s.pane.current) {
    const std::size_t at = *s.pane.current, margin = std::min<std::size_t>(2, (rows - 1) / 2);
    if (at < s.top + margin || at + margin >= s.top + rows) s.top = at - std::min(at, rows / 2);
  }
  s.top = std::min(s.top, last);
}

void Screen::render_pane(const PaneBox& box, std::vector<std::vector<Row>>& rows) {
  State& s = state(box.kind);
  s.rows = box.height - 1;
  follow(s);
  rows[std::size_t(box.top)].push_back(title_row(box, s.pane.title));
  for (int i = 0; i < s.rows; ++i)
    rows[std::size_t(box.top + 1 + i)].push_back(body_row(s, s.top + std::size_t(i), box.width));
}

Row Screen::body_row(State& s, std::size_t line, int width) const {
  std::string_view style;
  if (s.pane.count == 0 && line == 0) {
    Row row = clipped(styled_cells(s.pane.instead, style), 0, width);
    if (color_) set_style(row, kDim);
    return row;
  }
  if (line >= s.pane.count || !s.pane.line) return clipped({}, 0, width);
  const PaneLine text = s.pane.line(line);
  Row row = clipped(styled_cells(text.text, style), s.left, width);
  if (color_ && s.pane.current == line)
    set_style(row, kCurrent);
  else if (color_ && text.changed)
    set_style(row, kChanged);
  return row;
}

Row Screen::title_row(const PaneBox& box, std::string_view title) const {
  const bool focused = box.kind == focus_;
  std::string text(name_of(box.kind));
  if (!title.empty()) text += ": " + std::string(title);
  const std::string fill(1, color_ ? ' ' : focused ? '=' : '-');
  std::string_view unused;
  Row row = clipped(styled_cells(fill + fill + " " + text + " ", unused), 0, box.width);
  // From the end of the text on.
  std::size_t end = row.cells.size();
  while (end > 0 && row.cells[end - 1].text == " ") --end;
  for (std::size_t i = end + 1; i < row.cells.size(); ++i) row.cells[i].text = fill;
  if (color_) set_style(row, focused ? kFocused : kTitle);
  return row;
}

// ---- the command line ----

// The output and the entry after it, as one text of which the end is visible, or a part further back. `open`: the line
// being written appears instead of the entry.
Frame Screen::with_command(std::vector<Row> entry, ScreenPosition cursor, bool open) {
  const PaneBox& box = boxes_.back();
  const auto body = std::size_t(std::max(0, box.height - 1));
  std::vector<Row> all = output_.tail(width_, body + back_, open);
  const std::size_t before = all.size();
  std::move(entry.begin(), entry.end(), std::back_inserter(all));
  back_ = std::min(back_, all.size() - std::min(all.size(), body));
  std::size_t end = all.size() - back_;
  // If an entry is too high for the pane, the part around its cursor is visible.
  const std::size_t at = before + std::size_t(cursor.row);
  if (back_ == 0 && at + body < end) end = at + body;
  const std::size_t begin = end - std::min(end, body);

  Frame frame;
  frame.rows = rows_;
  std::string title = status;
  if (single_key) title += (title.empty() ? "" : "  ") + std::string(kSingleKey);
  if (back_ > 0) title += (title.empty() ? "" : "  ") + std::string(kScrolled);
  frame.rows.push_back(title_row(box, title));
  for (std::size_t i = begin; i < end; ++i) frame.rows.push_back(std::move(all[i]));
  frame.rows.resize(std::size_t(height_));
  for (Row& row : frame.rows) row.wraps = false;
  const std::size_t shown = std::clamp(at, begin, std::max(begin, end) - (end > begin ? 1 : 0)) - begin;
  frame.cursor = {std::min(height_ - 1, box.top + 1 + int(shown)), std::min(cursor.column, width_ - 1)};
  return frame;
}

}  // namespace rldb::ui
