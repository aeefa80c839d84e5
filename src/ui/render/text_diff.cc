#include "rldb/ui/render/text_diff.h"

#include <fmt/format.h>

#include "ui/render/diff_rows.h"

namespace rldb::ui {

namespace {

// Changed parts of a line in reverse video, as git's diff-highlight shows them.
void write_line(std::string& out, const DiffSide& side, bool color) {
  const DiffLine& line = *side.line;
  const bool paint = color && line.mark != ' ';
  const char* base = line.mark == '-' ? "\033[31m" : "\033[32m";
  if (paint) out += base;
  out += line.mark;
  std::size_t at = 0;
  if (paint)
    for (const ByteRange& r : side.changed) {
      out += line.text.substr(at, r.begin - at);
      out += "\033[7m" + line.text.substr(r.begin, r.end - r.begin) + "\033[27m";
      at = r.end;
    }
  out += line.text.substr(at);
  if (paint) out += "\033[0m";
  out += '\n';
}

void write_hunk(std::string& out, const DiffHunk& hunk, bool color) {
  out += color ? "\033[36m" + hunk.head() + "\033[0m\n" : hunk.head() + "\n";
  if (!color) {
    for (const DiffLine& line : hunk.lines) write_line(out, {&line, {}}, false);
    return;
  }
  const std::vector<DiffRow> rows = diff_rows(hunk);
  for (std::size_t i = 0; i < rows.size();) {
    if (rows[i].left.line && rows[i].left.line->mark == ' ') {
      write_line(out, rows[i++].left, color);
      continue;
    }
    std::size_t end = i;
    while (end < rows.size() && !(rows[end].left.line && rows[end].left.line->mark == ' ')) ++end;
    for (std::size_t k = i; k < end; ++k)
      if (rows[k].left.line) write_line(out, rows[k].left, color);
    for (std::size_t k = i; k < end; ++k)
      if (rows[k].right.line) write_line(out, rows[k].right, color);
    i = end;
  }
}

}  // namespace

DiffOptions diff_options(std::optional<DiffLayout> wanted, std::optional<int> columns, bool color) {
  constexpr int kWide = 140;  // width from which two texts fit side by side
  DiffOptions options;
  options.color = color;
  options.width = std::size_t(columns.value_or(kWide));
  options.layout = wanted.value_or(columns.value_or(0) >= kWide ? DiffLayout::SideBySide : DiffLayout::Unified);
  return options;
}

std::string show_diff(const std::vector<DiffHunk>& hunks, std::string_view before_name, std::string_view after_name,
                      const DiffOptions& options) {
  if (hunks.empty()) return {};
  if (options.layout == DiffLayout::SideBySide)
    return side_by_side(hunks, before_name, after_name, options.width, options.color);
  std::string out = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  for (const DiffHunk& hunk : hunks) write_hunk(out, hunk, options.color);
  return out;
}

std::string text_diff(std::string_view before, std::string_view after, std::string_view before_name,
                      std::string_view after_name, const DiffOptions& options) {
  return show_diff(diff_hunks(before, after, options.context), before_name, after_name, options);
}

DiffCount count_diff(std::string_view before, std::string_view after) {
  return count_diff(diff_hunks(before, after, 0));
}

DiffCount count_diff(const std::vector<DiffHunk>& hunks) {
  DiffCount count;
  for (const DiffHunk& hunk : hunks)
    for (const DiffLine& line : hunk.lines) {
      count.added += line.mark == '+';
      count.removed += line.mark == '-';
    }
  return count;
}

}  // namespace rldb::ui
