// float16 and bfloat16 in the middle of their range, by shifting the parts of a double. Everything else (zero,
// subnormals, the top of the range, NaN) goes the general way. Room-private.
#pragma once

#include <bit>
#include <cstring>

#include "eval/tir/scalar_value.h"

namespace rldb::eval {

struct Half {
  int mantissa, bias;
  static Half of(DType t) { return t.is_bfloat16() ? Half{7, 127} : Half{10, 15}; }
  // The exponent as in a double; after rounding too the number is neither subnormal nor infinite.
  bool is_ordinary(std::uint64_t exponent) const {
    return exponent - std::uint64_t(1024 - bias) < std::uint64_t(2 * bias - 1);
  }
  std::uint64_t rebias() const { return std::uint64_t(1023 - bias) << 52; }
};

inline constexpr std::uint64_t kSign = std::uint64_t(1) << 63;

// The bits of a double, rounded to a shorter mantissa.
inline std::uint64_t shortened(std::uint64_t bits, int dropped) {
  return (bits + (std::uint64_t(1) << (dropped - 1)) - 1 + ((bits >> dropped) & 1)) >> dropped << dropped;
}

inline double round_half(double v, DType t) {
  const Half h = Half::of(t);
  const auto bits = std::bit_cast<std::uint64_t>(v);
  if (!h.is_ordinary((bits >> 52) & 0x7FF)) return round_to(v, t);
  return std::bit_cast<double>(shortened(bits, 52 - h.mantissa));
}

inline double load_half(const std::byte* at, DType t) {
  const Half h = Half::of(t);
  std::uint16_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint64_t bits = (std::uint64_t(word & 0x7FFF) << (52 - h.mantissa)) + h.rebias();
  if (!h.is_ordinary(bits >> 52)) return load(at, t).f;
  return std::bit_cast<double>(bits | std::uint64_t(word >> 15) << 63);
}

inline void store_half(std::byte* at, DType t, double v) {
  const Half h = Half::of(t);
  const auto bits = std::bit_cast<std::uint64_t>(v);
  if (!h.is_ordinary((bits >> 52) & 0x7FF)) return store(at, t, of_float(v));
  const std::uint64_t magnitude = (shortened(bits & ~kSign, 52 - h.mantissa) - h.rebias()) >> (52 - h.mantissa);
  const auto word = std::uint16_t(magnitude | (bits & kSign) >> 48);
  std::memcpy(at, &word, sizeof word);
}

}  // namespace rldb::eval
