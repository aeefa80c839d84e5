// Facts: statistics of a value's elements, and of two values side by side, as data.
//
// Everything is computed in a few passes that poll for ^C; no element is copied. Users: `:stats`, `:plot`,
// `:compare-value`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::debug {

struct Statistics {
  struct Extreme {
    double value = 0;
    std::string text;   // exact for integers
    std::string index;  // `[3, 4]`
  };
  std::int64_t count = 0;
  std::int64_t nan = 0, positive_inf = 0, negative_inf = 0, zero = 0, negative = 0;
  std::int64_t finite = 0;
  // Of the finite elements; meaningless without any.
  Extreme min, max;
  double mean = 0, std = 0, norm = 0;
  std::vector<std::pair<double, double>> quantiles;  // part, value
  std::vector<std::int64_t> histogram;               // counts of equal bins from min to max
  std::vector<double> edges;                         // one more than the bins
  std::string first_nan, first_inf;                  // indices; empty: none
};
// A tensor, a number, a shape or a list of numbers.
runtime::Result<Statistics> statistics_of(const runtime::Value& v, std::int64_t bins = 10);

// Two tensors of one shape, element by element. NaN equals NaN.
struct Differences {
  struct Element {
    std::string index, left, right;
  };
  std::int64_t count = 0;      // elements
  std::int64_t differing = 0;  // not equal
  std::int64_t outside = 0;    // beyond the tolerance
  Element first;               // that differs
  Element worst;               // with the largest absolute difference
  double max_absolute = 0, max_relative = 0;
  double mean_absolute = 0;   // over all elements where the difference is finite
  std::uint64_t max_ulp = 0;  // in units of the last place of the left one's dtype; floats of one dtype only
  bool has_ulp = false;
};
runtime::Result<Differences> differences(const runtime::Value& left, const runtime::Value& right,
                                         const runtime::Tolerance& tolerance);

// `[1, 2]`: the index of an element, from its position in row order.
std::string index_text(std::int64_t flat, const std::vector<std::int64_t>& shape);
// One element as `print` shows it.
std::string element_text(const runtime::Tensor& t, std::int64_t flat);

}  // namespace rldb::debug
