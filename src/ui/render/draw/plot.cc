// Plots of tensors in the terminal and as SVG: heat map, line, histogram.
#include "rldb/ui/render/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "rldb/debug/facts.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/render/table.h"

namespace rldb::ui {

using runtime::Tensor;

std::optional<PlotKind> parse_plot_kind(std::string_view text) {
  if (text == "heat") return PlotKind::Heat;
  if (text == "hist") return PlotKind::Hist;
  if (text == "line") return PlotKind::Line;
  return std::nullopt;
}

PlotKind plot_kind_of(const Tensor& t) { return t.ndim() <= 1 ? PlotKind::Line : PlotKind::Heat; }

std::string plot_number(double v) { return fmt::format("{:.6g}", v); }

Grid grid_of(const Tensor& t, std::size_t most_rows, std::size_t most_columns) {
  Grid g;
  g.source_columns = t.ndim() == 0 ? 1 : t.shape().back();
  g.source_rows = g.source_columns == 0 ? 0 : t.element_count() / g.source_columns;
  g.rows = std::min<std::size_t>(std::size_t(g.source_rows), most_rows);
  g.columns = g.rows == 0 ? 0 : std::min<std::size_t>(std::size_t(g.source_columns), most_columns);
  const std::size_t cells = g.rows * g.columns;
  g.low.resize(cells), g.high.resize(cells), g.mean.resize(cells);
  g.odd.resize(cells), g.empty.assign(cells, true);
  std::vector<std::int64_t> counts(cells);
  bool any = false;
  for (std::int64_t r = 0; r < g.source_rows && cells > 0; ++r) {
    const std::size_t row = std::size_t(r) * g.rows / std::size_t(g.source_rows);
    for (std::int64_t c = 0; c < g.source_columns; ++c) {
      support::poll();
      const std::size_t cell = row * g.columns + std::size_t(c) * g.columns / std::size_t(g.source_columns);
      const double v = t.at(r * g.source_columns + c);
      if (!std::isfinite(v)) {
        g.odd[cell] = true;
        ++g.odd_elements;
        continue;
      }
      g.least = any ? std::min(g.least, v) : v;
      g.most = any ? std::max(g.most, v) : v;
      any = true;
      g.low[cell] = counts[cell] ? std::min(g.low[cell], v) : v;
      g.high[cell] = counts[cell] ? std::max(g.high[cell], v) : v;
      g.mean[cell] += v;
      ++counts[cell];
    }
  }
  for (std::size_t i = 0; i < cells; ++i) {
    g.empty[i] = counts[i] == 0;
    if (counts[i]) g.mean[i] /= double(counts[i]);
  }
  return g;
}

double part_of(double v, double low, double high) {
  const double width = high / 2 - low / 2;  // halves: the whole may be larger than any number
  if (!(width > 0)) return 0.5;
  return std::clamp(v / 2 / width - low / 2 / width, 0.0, 1.0);
}

namespace {

std::string odd_note(std::int64_t count) {
  return count == 0 ? "" : fmt::format("{} element{} not finite, marked `!`\n", count, count == 1 ? " is" : "s are");
}

std::string heat_text(const support::Ref<Tensor>& t, const PlotStyle& style) {
  static constexpr std::array<std::string_view, 5> kBlocks{" ", "░", "▒", "▓", "█"};
  static constexpr std::string_view kAscii = " .:-=+*#%@";
  const Grid g = grid_of(*t, style.height, style.width);
  const std::size_t shades = style.ascii ? kAscii.size() : kBlocks.size();
  const auto shade = [&](std::size_t i) { return style.ascii ? std::string(1, kAscii[i]) : std::string(kBlocks[i]); };
  std::string text;
  for (std::size_t r = 0; r < g.rows; ++r) {
    std::string line = "|";
    for (std::size_t c = 0; c < g.columns; ++c) {
      const std::size_t cell = r * g.columns + c;
      const auto level = std::size_t(part_of(g.mean[cell], g.least, g.most) * double(shades - 1) + 0.5);
      // Where there is room, two columns per cell, so that a square matrix looks square.
      const std::string mark = g.odd[cell] ? "!" : shade(level);
      line += g.columns * 2 <= style.width ? mark + mark : mark;
    }
    text += line + "|\n";
  }
  std::string scale;
  for (std::size_t i = 0; i < shades; ++i) scale += shade(i);
  text += fmt::format("{} [{}] {}", plot_number(g.least), scale, plot_number(g.most));
  if (std::int64_t(g.rows) < g.source_rows || std::int64_t(g.columns) < g.source_columns)
    text += fmt::format("; {} x {} elements in {} x {} cells, their means", g.source_rows, g.source_columns, g.rows,
                        g.columns);
  return text + "\n" + odd_note(g.odd_elements);
}

// A bar of that many eighths of a column.
std::string bar(double columns, bool ascii) {
  static constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto whole = std::size_t(columns);
  std::string text;
  for (std::size_t i = 0; i < whole; ++i) text += ascii ? "#" : "█";
  if (ascii) return text.empty() && columns > 0 ? "." : text;
  const auto rest = std::size_t((columns - double(whole)) * 8);
  text += kEighths[rest];
  return text.empty() && columns > 0 ? std::string(kEighths[1]) : text;
}

std::string hist_text(const support::Ref<Tensor>& t, const PlotStyle& style) {
  const auto s = debug::statistics_of(runtime::Value(t), std::int64_t(std::min<std::size_t>(style.height, 16)));
  if (!s.ok()) return s.error().message + "\n";
  std::string text = s->finite == 0 ? "no element is finite\n" : histogram_text(*s, style);
  if (s->count > s->finite) text += fmt::format("{} NaN, {} inf, {} -inf\n", s->nan, s->positive_inf, s->negative_inf);
  return text;
}

std::string line_text(const support::Ref<Tensor>& t, const PlotStyle& style) {
  const auto flat = Tensor::view(t->storage(), t->byte_offset(), {t->element_count()}, t->dtype());
  if (!flat.ok()) return flat.error().message + "\n";
  const Grid g = grid_of(**flat, 1, style.width);
  const std::size_t height = std::min<std::size_t>(style.height, 12);
  const auto row_of = [&](double v) {
    return std::size_t((1 - part_of(v, g.least, g.most)) * double(height - 1) + 0.5);
  };
  std::vector<std::string> rows(height);
  for (std::size_t c = 0; c < g.columns; ++c) {
    const std::size_t top = g.empty[c] ? height : row_of(g.high[c]), bottom = g.empty[c] ? 0 : row_of(g.low[c]);
    for (std::size_t r = 0; r < height; ++r) {
      const bool inside = r >= top && r <= bottom;
      const std::string point = style.ascii ? "*" : "█";
      rows[r] += inside ? point : g.odd[c] && r == 0 ? "!" : " ";
    }
  }
  const std::string high = plot_number(g.most), low = plot_number(g.least);
  const std::size_t margin = std::max(high.size(), low.size());
  std::string text;
  for (std::size_t r = 0; r < height; ++r)
    text += fmt::format("{:>{}} |{}\n", r == 0 ? high : r + 1 == height ? low : "", margin, rows[r]);
  const std::string last = fmt::format("[{}]", std::max<std::int64_t>(g.source_columns - 1, 0));
  const std::size_t gap = g.columns > last.size() + 3 ? g.columns - last.size() - 3 : 1;
  text += fmt::format("{:>{}}  [0]{}{}\n", "", margin, std::string(gap, ' '), last);
  return text + odd_note(g.odd_elements);
}

}  // namespace

std::string histogram_text(const debug::Statistics& s, const PlotStyle& style) {
  std::int64_t most = 1;
  for (const std::int64_t n : s.histogram) most = std::max(most, n);
  Table table({"from", "to", "count", ""});
  for (std::size_t i = 0; i < s.histogram.size(); ++i)
    table.add({plot_number(s.edges[i]), plot_number(s.edges[i + 1]), fmt::format("{}", s.histogram[i]),
               bar(double(s.histogram[i]) / double(most) * double(style.width / 2), style.ascii)});
  return table.text();
}

std::string plot_text(const support::Ref<Tensor>& t, PlotKind kind, const PlotStyle& style) {
  if (t->element_count() == 0) return "no elements\n";
  switch (kind) {
    case PlotKind::Heat:
      return heat_text(t, style);
    case PlotKind::Hist:
      return hist_text(t, style);
    case PlotKind::Line:
      return line_text(t, style);
  }
  return "";
}

}  // namespace rldb::ui
