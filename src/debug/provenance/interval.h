// The integers that a scalar expression of a kernel can have while some of its variables lie in intervals.
//
// Exact for one value of every variable; else an interval that contains all values. User: SlicedKernel.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>

#include "rldb/ir/stmt.h"

namespace rldb::debug {

struct Interval {
  static constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min() / 4;
  static constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max() / 4;
  std::int64_t low = kLow, high = kHigh;  // both included
  static Interval of(std::int64_t v) { return {v, v}; }
  bool is_point() const { return low == high; }
  bool contains(std::int64_t v) const { return low <= v && v <= high; }
};

using Intervals = std::unordered_map<const ir::Var*, Interval>;

// `exact`: the value of an expression that needs more than integers (memory, floats), if its variables are known.
Interval interval_of(const ir::Expr* e, const Intervals& known,
                     const std::function<std::optional<std::int64_t>(const ir::Expr*)>& exact);

}  // namespace rldb::debug
