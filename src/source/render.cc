// Diagnostics as text for a terminal: place, message, the source line, a caret under the range.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "rldb/source/diagnostic.h"
#include "rldb/source/visible.h"
#include "source/utf8.h"

namespace rldb::source {

namespace {

constexpr std::size_t kTabWidth = 4;
constexpr std::string_view kReset = "\033[0m";
constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kRed = "\033[1;31m";
constexpr std::string_view kYellow = "\033[1;33m";
constexpr std::string_view kCyan = "\033[1;36m";
constexpr std::string_view kGreen = "\033[1;32m";

std::string_view severity_word(Severity s) {
  switch (s) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Note:
      return "note";
  }
  return "error";
}

std::string_view severity_color(Severity s) {
  switch (s) {
    case Severity::Error:
      return kRed;
    case Severity::Warning:
      return kYellow;
    case Severity::Note:
      return kCyan;
  }
  return kRed;
}

// One character of a source line as the terminal gets it.
struct Cell {
  std::string text;
  std::size_t width = 1;
  std::size_t offset = 0;  // of its first byte, in the line
};

struct Line {
  std::vector<Cell> cells;
  std::size_t width = 0;
};

// Tabs become spaces, control and broken bytes a replacement character: a source file cannot move
// the cursor or colour the terminal.
Line layout(std::string_view text) {
  Line line;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    Cell cell{std::string(text.substr(at, c.bytes)), 1, at};
    if (c.value == '\t') {
      cell.width = kTabWidth - line.width % kTabWidth;
      cell.text.assign(cell.width, ' ');
    } else if (!c.valid || c.value == '\n' || is_obeyed(c.value)) {
      cell.text = "\xEF\xBF\xBD";
    } else {
      cell.width = static_cast<std::size_t>(display_width(c.value));
    }
    line.width += cell.width;
    at += c.bytes;
    line.cells.push_back(std::move(cell));
  }
  return line;
}

class Renderer {
 public:
  Renderer(const SourceManager& sources, const RenderOptions& options) : sources_(sources), options_(options) {}

  void add(const Diagnostic& d) {
    header(d.span, d.severity, d.message);
    snippet(d.span, severity_color(d.severity));
    for (const Note& note : d.notes) {
      header(note.span, Severity::Note, note.text);
      snippet(note.span, severity_color(Severity::Note));
    }
    // Many errors of one kind need their advice once.
    if (!d.hint.empty() && hints_.insert(d.hint).second) {
      paint(kGreen, "hint:");
      out_ += ' ';
      append_lines(d.hint);
    }
  }
  void append(std::string_view text) { out_ += text; }
  std::string take() { return std::move(out_); }

 private:
  void paint(std::string_view color, std::string_view text) {
    if (options_.color) out_ += color;
    out_ += text;
    if (options_.color) out_ += kReset;
  }

  void append_lines(std::string_view text) {
    out_ += visible(text);
    if (!text.ends_with('\n')) out_ += '\n';
  }

  void header(Span span, Severity severity, std::string_view text) {
    if (const Buffer* buffer = sources_.find(span.file)) {
      const LineColumn place = buffer->line_column(span.begin);
      paint(kBold, fmt::format("{}:{}:{}:", visible(buffer->name(), {.line_breaks = false}), place.line, place.column));
      out_ += ' ';
    }
    paint(severity_color(severity), fmt::format("{}:", severity_word(severity)));
    out_ += ' ';
    append_lines(text);
  }

  void snippet(Span span, std::string_view color) {
    const Buffer* buffer = sources_.find(span.file);
    if (!buffer) return;
    const auto size = static_cast<std::uint32_t>(buffer->text().size());
    const std::uint32_t begin = std::min(span.begin, size);
    std::uint32_t end = std::clamp(span.end, begin, size);
    const LineColumn first = buffer->line_column(begin, ColumnUnit::Bytes);
    // A range that ends just after a line break does not extend into the next line.
    if (end > begin && buffer->text()[end - 1] == '\n') --end;
    const LineColumn last = buffer->line_column(end, ColumnUnit::Bytes);
    const std::string_view first_text = buffer->line(first.line);
    if (last.line == first.line) {
      marked_line(first.line, first_text, first.column - 1, last.column - 1, true, color);
      return;
    }
    marked_line(first.line, first_text, first.column - 1, first_text.size(), true, color);
    if (last.line - first.line > 1) out_ += "  ... |\n";
    const std::string_view last_text = buffer->line(last.line);
    const std::size_t indent = std::min(last_text.find_first_not_of(" \t"), std::size_t(last.column - 1));
    marked_line(last.line, last_text, indent, last.column - 1, false, color);
  }

  // Shows a line with [begin, end) marked; an empty range gets a single mark.
  void marked_line(std::uint32_t number, std::string_view text, std::size_t begin, std::size_t end, bool caret,
                   std::string_view color) {
    const std::size_t room = std::max<std::size_t>(options_.max_line_width, 20);
    keep_near_mark(text, begin, end, room);
    const Line line = layout(text);
    std::size_t mark_begin = line.width;
    std::size_t mark_end = line.width;
    std::size_t column = 0;
    for (const Cell& cell : line.cells) {
      if (cell.offset >= begin && mark_begin == line.width) mark_begin = column;
      column += cell.width;
      if (cell.offset < end) mark_end = column;
    }
    mark_begin = std::min(mark_begin, line.width);
    mark_end = std::max(mark_end, mark_begin + 1);
    if (begin >= end) mark_end = mark_begin + 1;

    // The visible window of columns.
    std::size_t from = 0;
    std::size_t to = std::max(line.width, mark_begin + 1);
    if (line.width > room) {
      const std::size_t context = room / 3;
      from = mark_begin > context ? mark_begin - context : 0;
      to = from + room;
      if (to >= line.width) {
        to = std::max(line.width, mark_begin + 1);
        from = to > room ? to - room : 0;
      }
    }
    out_ += fmt::format("{:5} | ", number);
    const std::size_t shown_from = show_cells(line, from, to);
    out_ += '\n';

    const std::size_t lead = from > 0 ? 3 : 0;
    const std::size_t mark_to = std::min(mark_end, to);
    out_ += "      | ";
    out_.append(lead + (mark_begin - std::min(mark_begin, shown_from)), ' ');
    std::string marks(std::max<std::size_t>(mark_to > mark_begin ? mark_to - mark_begin : 1, 1), '~');
    if (caret) marks[0] = '^';
    paint(color, marks);
    out_ += '\n';
  }

  // A line may be a whole file. Only the part from which the window can be taken is laid out: twice the room on either
  // side of the mark, at four bytes per character, so that the window still finds a cut to show.
  static void keep_near_mark(std::string_view& text, std::size_t& begin, std::size_t& end, std::size_t room) {
    const std::size_t reach = 8 * room;
    begin = std::min(begin, text.size());
    if (text.size() - begin > reach) {
      text = text.substr(0, begin + reach);
      end = std::min(end, text.size());
    }
    if (begin <= reach) return;
    std::size_t cut = begin - reach;
    while (cut < begin && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) ++cut;
    text.remove_prefix(cut);
    begin -= cut;
    end -= std::min(cut, end);
  }

  // Writes the cells of the window, with `...` where something is cut; returns the column of the
  // first cell shown (a wide character is never halved).
  std::size_t show_cells(const Line& line, std::size_t from, std::size_t to) {
    std::size_t column = 0;
    std::size_t shown_from = from;
    bool started = false;
    std::string shown;
    for (const Cell& cell : line.cells) {
      if (column >= from && column + cell.width <= to) {
        if (!started) shown_from = column;
        started = true;
        shown += cell.text;
      }
      column += cell.width;
    }
    if (from > 0) out_ += "...";
    if (to >= line.width) {
      while (shown.ends_with(' ')) shown.pop_back();
    }
    out_ += shown;
    if (to < line.width) out_ += "...";
    if (out_.ends_with("| ")) out_.pop_back();
    return shown_from;
  }

  const SourceManager& sources_;
  const RenderOptions& options_;
  std::set<std::string> hints_;  // that were shown
  std::string out_;
};

}  // namespace

std::string render(const Diagnostic& d, const SourceManager& sources, const RenderOptions& options) {
  Renderer renderer(sources, options);
  renderer.add(d);
  return renderer.take();
}

std::string render(const Diagnostics& d, const SourceManager& sources, const RenderOptions& options) {
  Renderer renderer(sources, options);
  for (const Diagnostic& one : d.all()) renderer.add(one);
  const auto shown = static_cast<std::size_t>(
      std::count_if(d.all().begin(), d.all().end(), [](const auto& one) { return one.severity == Severity::Error; }));
  if (d.error_count() > shown) {
    renderer.append(fmt::format("{} more errors are not shown\n", d.error_count() - shown));
  }
  return renderer.take();
}

}  // namespace rldb::source
