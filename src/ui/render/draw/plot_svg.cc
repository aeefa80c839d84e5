// Plots as SVG.
#include <algorithm>
#include <cmath>

#include "rldb/debug/facts.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/render/plot.h"
#include "ui/render/draw/svg.h"

namespace rldb::ui {

using runtime::Tensor;

namespace {

constexpr double kLeft = 90, kTop = 40, kWidth = 640, kHeight = 400, kRight = 110, kBottom = 40;
constexpr std::string_view kOdd = "#d62728", kInk = "#1f77b4", kAxis = "#888";

Svg frame(std::string_view title) {
  Svg svg(kLeft + kWidth + kRight, kTop + kHeight + kBottom);
  svg.text(kLeft, 24, title);
  return svg;
}

std::string heat_svg(const support::Ref<Tensor>& t, std::string_view title) {
  constexpr std::size_t kMostCells = 200;
  const Grid g = grid_of(*t, kMostCells, kMostCells);
  Svg svg = frame(title);
  const double width = kWidth / double(std::max<std::size_t>(g.columns, 1));
  const double height = kHeight / double(std::max<std::size_t>(g.rows, 1));
  for (std::size_t r = 0; r < g.rows; ++r)
    for (std::size_t c = 0; c < g.columns; ++c) {
      support::poll();
      const std::size_t cell = r * g.columns + c;
      const std::string color = g.odd[cell] ? std::string(kOdd) : heat_color(part_of(g.mean[cell], g.least, g.most));
      const std::int64_t row = std::int64_t(r) * g.source_rows / std::int64_t(g.rows);
      const std::int64_t column = std::int64_t(c) * g.source_columns / std::int64_t(g.columns);
      svg.rect(
          kLeft + double(c) * width, kTop + double(r) * height, width, height, color,
          fmt::format("[{}, {}] {}", row, column, g.odd[cell] ? std::string("not finite") : plot_number(g.mean[cell])));
    }
  for (int i = 0; i < 64; ++i)
    svg.rect(kLeft + kWidth + 20, kTop + kHeight * (63 - i) / 64, 16, kHeight / 64 + 0.5, heat_color(double(i) / 63));
  svg.text(kLeft + kWidth + 40, kTop + 10, plot_number(g.most));
  svg.text(kLeft + kWidth + 40, kTop + kHeight, plot_number(g.least));
  svg.text(kLeft, kTop + kHeight + 20, fmt::format("{} x {} elements", g.source_rows, g.source_columns));
  if (g.odd_elements > 0)
    svg.text(kLeft + kWidth, kTop + kHeight + 20, fmt::format("{} not finite", g.odd_elements), Svg::Anchor::End, kOdd);
  return std::move(svg).finish();
}

std::string hist_svg(const support::Ref<Tensor>& t, std::string_view title) {
  Svg svg = frame(title);
  const auto s = debug::statistics_of(runtime::Value(t), 32);
  if (!s.ok() || s->finite == 0) {
    svg.text(kLeft, kTop + 20, "no element is finite");
    return std::move(svg).finish();
  }
  std::int64_t most = 1;
  for (const std::int64_t n : s->histogram) most = std::max(most, n);
  const double width = kWidth / double(s->histogram.size());
  for (std::size_t i = 0; i < s->histogram.size(); ++i) {
    const double height = kHeight * double(s->histogram[i]) / double(most);
    svg.rect(kLeft + double(i) * width, kTop + kHeight - height, std::max(width - 1, 1.0), height, kInk,
             fmt::format("{} to {}: {}", plot_number(s->edges[i]), plot_number(s->edges[i + 1]), s->histogram[i]));
  }
  svg.line(kLeft, kTop + kHeight, kLeft + kWidth, kTop + kHeight, kAxis);
  svg.text(kLeft, kTop + kHeight + 20, plot_number(s->edges.front()));
  svg.text(kLeft + kWidth, kTop + kHeight + 20, plot_number(s->edges.back()), Svg::Anchor::End);
  svg.text(kLeft - 8, kTop + 10, fmt::format("{}", most), Svg::Anchor::End);
  if (s->count > s->finite)
    svg.text(kLeft + kWidth + 10, kTop + 10, fmt::format("{} not finite", s->count - s->finite), Svg::Anchor::Start,
             kOdd);
  return std::move(svg).finish();
}

std::string line_svg(const support::Ref<Tensor>& t, std::string_view title) {
  Svg svg = frame(title);
  const auto flat = Tensor::view(t->storage(), t->byte_offset(), {t->element_count()}, t->dtype());
  const Grid g = flat.ok() ? grid_of(**flat, 1, std::size_t(kWidth)) : Grid{};
  const auto y_of = [&](double v) { return kTop + kHeight * (1 - part_of(v, g.least, g.most)); };
  const auto x_of = [&](std::size_t c) {
    return g.columns > 1 ? kLeft + kWidth * double(c) / double(g.columns - 1) : kLeft + kWidth / 2;
  };
  std::string points;
  const auto flush = [&] {
    if (!points.empty()) svg.polyline(points, kInk);
    points.clear();
  };
  for (std::size_t c = 0; c < g.columns; ++c) {
    if (g.odd[c]) svg.line(x_of(c), kTop, x_of(c), kTop + kHeight, kOdd);
    if (g.empty[c]) {
      flush();
      continue;
    }
    points += fmt::format("{:g},{:.2f} ", x_of(c), y_of(g.high[c]));
    if (g.low[c] < g.high[c]) points += fmt::format("{:g},{:.2f} ", x_of(c), y_of(g.low[c]));
  }
  flush();
  svg.line(kLeft, kTop, kLeft, kTop + kHeight, kAxis);
  svg.line(kLeft, kTop + kHeight, kLeft + kWidth, kTop + kHeight, kAxis);
  svg.text(kLeft - 8, kTop + 10, plot_number(g.most), Svg::Anchor::End);
  svg.text(kLeft - 8, kTop + kHeight, plot_number(g.least), Svg::Anchor::End);
  svg.text(kLeft, kTop + kHeight + 20, "[0]");
  svg.text(kLeft + kWidth, kTop + kHeight + 20, fmt::format("[{}]", std::max<std::int64_t>(g.source_columns - 1, 0)),
           Svg::Anchor::End);
  return std::move(svg).finish();
}

}  // namespace

std::string plot_svg(const support::Ref<Tensor>& t, PlotKind kind, std::string_view title) {
  switch (kind) {
    case PlotKind::Heat:
      return heat_svg(t, title);
    case PlotKind::Hist:
      return hist_svg(t, title);
    case PlotKind::Line:
      return line_svg(t, title);
  }
  return "";
}

}  // namespace rldb::ui
