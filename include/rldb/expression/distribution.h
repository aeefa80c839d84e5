// The distribution of a tensor's elements: moments, order statistics and histograms, in passes over the elements that
// copy none of them. Each pass polls for ^C. Integers of more than 53 bits are rounded to double.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::expression {

// Counts of all elements; the rest is about the finite ones and meaningless without any.
struct Moments {
  std::int64_t finite = 0, nan = 0, positive_inf = 0, negative_inf = 0, zero = 0, negative = 0;
  std::int64_t first_nan = -1, first_inf = -1;  // positions in row order; -1: none
  std::int64_t low_at = -1, high_at = -1;       // of the first smallest and the first largest
  double low = 0, high = 0;
  double mean = 0, std = 0, norm = 0;  // std: of the population, as NumPy's; norm: the root of the sum of squares
};
Moments moments_of(const runtime::Tensor& t);

// The values at these positions of the sorted elements (-inf first, NaN last), by their leading 16 bits, then the next
// 16, and so on: no element is moved.
std::vector<double> values_at(const runtime::Tensor& t, std::span<const std::int64_t> positions);

// The value below which a part `q` (0 to 1) of `count` elements lie, between two of them by linear interpolation, as
// NumPy's quantile. `first`: the position of the first of the elements among the sorted ones.
std::vector<double> quantiles_of(const runtime::Tensor& t, std::span<const double> parts, std::int64_t first,
                                 std::int64_t count);

// Counts of the elements between adjacent edges, which are equally far apart; those outside are not counted. A value on
// an edge is above it, but for the last edge.
std::vector<std::int64_t> bin_counts(const runtime::Tensor& t, std::span<const double> edges);
// Both, of the same elements; in one pass less than one after the other.
struct Distribution {
  std::vector<double> quantiles;
  std::vector<std::int64_t> counts;
};
Distribution distribution_of(const runtime::Tensor& t, std::span<const double> parts, std::int64_t first,
                             std::int64_t count, std::span<const double> edges);
// `bins` equal parts of low..high; one edge more.
std::vector<double> equal_edges(double low, double high, std::int64_t bins);

}  // namespace rldb::expression
