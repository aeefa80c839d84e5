// Division of integers as TensorIR's `//` and `%` (and Python's) define it: rounded down; the remainder has the
// divisor's sign.
#pragma once

#include <cstdint>

namespace rldb::support {

// b != 0; INT64_MIN // -1 wraps.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1) return std::int64_t(0 - std::uint64_t(a));
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
// b != 0
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace rldb::support
