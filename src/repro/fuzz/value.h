// A value of a random program, with bounds for what it can be at run time. Room-private.
//
// The bounds hold for the inputs that a session generates (floats in [-1, 1), integers 0 to 9), whatever the symbolic
// dims are. They keep operators within their domains, and tell which results depend on rounding.
#pragma once

#include <algorithm>
#include <cmath>

#include "rldb/ir/context.h"

namespace rldb::repro {

struct Range {
  double low = -1, high = 1;
  bool contains(const Range& r) const { return low <= r.low && r.high <= high; }
  double largest() const { return std::max(std::abs(low), std::abs(high)); }
  // Around zero, with all numbers of this one.
  Range hull() const { return {-largest(), largest()}; }
  friend Range operator+(const Range& a, const Range& b) { return {a.low + b.low, a.high + b.high}; }
  friend Range operator-(const Range& a, const Range& b) { return {a.low - b.high, a.high - b.low}; }
  friend Range operator|(const Range& a, const Range& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
  friend Range operator&(const Range& a, const Range& b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }
};
inline Range times(const Range& a, const Range& b) {
  const double all[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
}
inline Range times(const Range& a, double count) { return {a.low * count, a.high * count}; }
inline constexpr Range kEverything{-1e300, 1e300};

struct Known {
  const ir::Var* var = nullptr;
  const ir::TensorType* type = nullptr;
  Range range;
  // No rounding on the way: every correct compilation gives the same bits. Operators that jump (floor, argmax) need it.
  bool exact = true;
  double error = 0;  // that differences of rounding may have reached, absolute
  int ndim() const { return type->ndim; }
  ir::DType dtype() const { return type->dtype; }
  const ir::Expr* dim(int axis) const { return type->shape[std::size_t(axis)]; }
};

// Of the result of an operator.
struct Image {
  Range range;
  bool exact = false;
  double error = 0;
};
// Of a result whose elements are elements of `x`.
inline Image same(const Known& x) { return {x.range, x.exact, x.error}; }

// Relative error of one rounding; 0 for integers.
double rounding_of(ir::DType dtype);
// Numbers that a dtype holds with room for a sum.
Range moderate(ir::DType dtype);

}  // namespace rldb::repro
