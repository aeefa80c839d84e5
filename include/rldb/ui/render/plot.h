// Plots of a tensor: a heat map, a histogram or a line, as text for a terminal and as a self-contained SVG.
//
// Tensors larger than the picture are first reduced to cells: a heat map shows the mean of each cell, a line the range
// of the elements in each column. NaN and infinities are counted and shown separately, never drawn as numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rldb/debug/facts.h"
#include "rldb/runtime/value.h"

namespace rldb::ui {

enum class PlotKind : std::uint8_t { Heat, Hist, Line };
std::optional<PlotKind> parse_plot_kind(std::string_view text);
// A line for one dimension, else a heat map.
PlotKind plot_kind_of(const runtime::Tensor& t);

struct PlotStyle {
  std::size_t width = 64;  // columns of the drawing
  std::size_t height = 24;
  bool ascii = false;
};
std::string plot_text(const support::Ref<runtime::Tensor>& t, PlotKind kind, const PlotStyle& style);
std::string histogram_text(const debug::Statistics& s, const PlotStyle& style);
std::string plot_svg(const support::Ref<runtime::Tensor>& t, PlotKind kind, std::string_view title);

// ---- shared by text and SVG ----

// A grid of cells; the last dimension goes to the right, all others go down.
struct Grid {
  std::size_t rows = 0, columns = 0;
  std::int64_t source_rows = 0, source_columns = 0;
  std::vector<double> low, high, mean;  // of the finite elements of each cell, in row order
  std::vector<bool> odd;                // a cell that contains NaN or an infinity
  std::vector<bool> empty;              // a cell without a finite element
  double least = 0, most = 0;           // of all finite elements
  std::int64_t odd_elements = 0;
};
std::string plot_number(double v);  // six digits
// The position of a value between two others: 0 to 1, for any finite numbers.
double part_of(double v, double low, double high);
Grid grid_of(const runtime::Tensor& t, std::size_t most_rows, std::size_t most_columns);

}  // namespace rldb::ui
