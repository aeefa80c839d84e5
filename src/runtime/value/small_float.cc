// Floats below float64, encoded and decoded by one algorithm over a table of formats.
#include "runtime/value/small_float.h"

#include <bit>
#include <cmath>
#include <limits>

namespace rldb::runtime {

namespace {

using Style = SmallFloatStyle;

constexpr SmallFloat kFloat16{5, 10, 15, Style::Ieee};
constexpr SmallFloat kFloat32{8, 23, 127, Style::Ieee};
constexpr SmallFloat kBFloat16{8, 7, 127, Style::Ieee};
constexpr SmallFloat kE3M4{3, 4, 3, Style::Ieee};
constexpr SmallFloat kE4M3{4, 3, 7, Style::Ieee};
constexpr SmallFloat kE4M3B11FNUZ{4, 3, 11, Style::Unsigned};
constexpr SmallFloat kE4M3FN{4, 3, 7, Style::FiniteNan};
constexpr SmallFloat kE4M3FNUZ{4, 3, 8, Style::Unsigned};
constexpr SmallFloat kE5M2{5, 2, 15, Style::Ieee};
constexpr SmallFloat kE5M2FNUZ{5, 2, 16, Style::Unsigned};
constexpr SmallFloat kE8M0FNU{8, 0, 127, Style::Exponent};
constexpr SmallFloat kE2M3FN{2, 3, 1, Style::Finite};
constexpr SmallFloat kE3M2FN{3, 2, 3, Style::Finite};
constexpr SmallFloat kE2M1FN{2, 1, 1, Style::Finite};

std::uint32_t magnitude_mask(const SmallFloat& f) {
  return (std::uint32_t(1) << (f.exponent_bits + f.mantissa_bits)) - 1;
}

// The largest magnitude encoding that is a finite number.
std::uint32_t largest_finite(const SmallFloat& f) {
  switch (f.style) {
    case Style::Ieee:
      return (((std::uint32_t(1) << f.exponent_bits) - 1) << f.mantissa_bits) - 1;
    case Style::FiniteNan:
    case Style::Exponent:
      return magnitude_mask(f) - 1;
    case Style::Finite:
    case Style::Unsigned:
      return magnitude_mask(f);
  }
  return 0;
}

std::uint32_t nan_encoding(const SmallFloat& f, std::uint32_t sign) {
  const std::uint32_t sign_bit = magnitude_mask(f) + 1;
  switch (f.style) {
    case Style::Ieee:  // quiet: the top mantissa bit
      return sign | (largest_finite(f) + 1) | (std::uint32_t(1) << (f.mantissa_bits - 1));
    case Style::FiniteNan:
      return sign | magnitude_mask(f);
    case Style::Exponent:
      return magnitude_mask(f);
    case Style::Finite:
    case Style::Unsigned:
      return sign_bit;
  }
  return 0;
}

std::uint32_t overflow_encoding(const SmallFloat& f, std::uint32_t sign) {
  switch (f.style) {
    case Style::Ieee:
      return sign | (largest_finite(f) + 1);
    case Style::Finite:
      return sign | largest_finite(f);
    case Style::FiniteNan:
    case Style::Unsigned:
    case Style::Exponent:
      return nan_encoding(f, sign);
  }
  return 0;
}

// ---- numbers in the middle of the range, by shifting the parts of a double ----

constexpr int kDoubleMantissa = 52, kDoubleBias = 1023;
constexpr std::uint64_t kDoubleSign = std::uint64_t(1) << 63;

// Neither subnormal nor, after rounding, at the top of the range, where styles differ. The exponent is the format's.
bool is_ordinary(const SmallFloat& f, int exponent) {
  return f.style != Style::Exponent && exponent > 0 && exponent + 1 < (1 << f.exponent_bits) - 1;
}

std::uint64_t rebias(const SmallFloat& f) { return std::uint64_t(kDoubleBias - f.bias) << kDoubleMantissa; }

double decode_ordinary(const SmallFloat& f, std::uint32_t magnitude, bool negative) {
  const std::uint64_t bits = (std::uint64_t(magnitude) << (kDoubleMantissa - f.mantissa_bits)) + rebias(f);
  return std::bit_cast<double>(negative ? bits | kDoubleSign : bits);
}

std::uint32_t encode_ordinary(const SmallFloat& f, std::uint64_t bits) {
  const int dropped = kDoubleMantissa - f.mantissa_bits;
  const std::uint64_t magnitude = (bits & ~kDoubleSign) - rebias(f);
  const std::uint64_t half = (std::uint64_t(1) << (dropped - 1)) - 1;
  const std::uint64_t rounded = (magnitude + half + ((magnitude >> dropped) & 1)) >> dropped;
  return std::uint32_t(rounded) | (bits & kDoubleSign ? magnitude_mask(f) + 1 : 0);
}

}  // namespace

const SmallFloat* small_float(DType t) {
  switch (t.code) {
    case TypeCode::Float:
      return t.bits == 16 ? &kFloat16 : t.bits == 32 ? &kFloat32 : nullptr;
    case TypeCode::BFloat:
      return t.bits == 16 ? &kBFloat16 : nullptr;
    case TypeCode::Float8E3M4:
      return &kE3M4;
    case TypeCode::Float8E4M3:
      return &kE4M3;
    case TypeCode::Float8E4M3B11FNUZ:
      return &kE4M3B11FNUZ;
    case TypeCode::Float8E4M3FN:
      return &kE4M3FN;
    case TypeCode::Float8E4M3FNUZ:
      return &kE4M3FNUZ;
    case TypeCode::Float8E5M2:
      return &kE5M2;
    case TypeCode::Float8E5M2FNUZ:
      return &kE5M2FNUZ;
    case TypeCode::Float8E8M0FNU:
      return &kE8M0FNU;
    case TypeCode::Float6E2M3FN:
      return &kE2M3FN;
    case TypeCode::Float6E3M2FN:
      return &kE3M2FN;
    case TypeCode::Float4E2M1FN:
      return &kE2M1FN;
    case TypeCode::Int:
    case TypeCode::UInt:
    case TypeCode::Handle:
    case TypeCode::Bool:
      return nullptr;
  }
  return nullptr;
}

double decode_small(const SmallFloat& f, std::uint32_t bits) {
  const std::uint32_t mask = magnitude_mask(f);
  const std::uint32_t magnitude = bits & mask;
  const bool negative = f.style != Style::Exponent && ((bits >> (f.total_bits() - 1)) & 1) != 0;
  if (is_ordinary(f, int(magnitude >> f.mantissa_bits))) return decode_ordinary(f, magnitude, negative);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (f.style == Style::Unsigned && negative && magnitude == 0) return kNan;
  if (magnitude > largest_finite(f)) {
    const bool infinite = f.style == Style::Ieee && magnitude == largest_finite(f) + 1;
    if (!infinite) return negative ? -kNan : kNan;
    const double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  std::uint32_t mantissa = magnitude & ((std::uint32_t(1) << f.mantissa_bits) - 1);
  double value = 0;
  if (exponent == 0 && f.style != Style::Exponent) {
    value = std::ldexp(double(mantissa), 1 - f.bias - f.mantissa_bits);
  } else {
    mantissa |= std::uint32_t(1) << f.mantissa_bits;
    value = std::ldexp(double(mantissa), exponent - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

std::uint32_t encode_small(const SmallFloat& f, double value) {
  const auto parts = std::bit_cast<std::uint64_t>(value);
  const int biased = int((parts >> kDoubleMantissa) & 0x7FF) - kDoubleBias + f.bias;
  if (is_ordinary(f, biased)) return encode_ordinary(f, parts);
  const bool has_sign = f.style != Style::Exponent;
  const std::uint32_t sign_bit = has_sign ? magnitude_mask(f) + 1 : 0;
  const std::uint32_t sign = std::signbit(value) ? sign_bit : 0;
  if (std::isnan(value)) return nan_encoding(f, sign);
  if (std::isinf(value)) return overflow_encoding(f, sign);
  const double magnitude = std::fabs(value);
  if (f.style == Style::Exponent && (value <= 0)) return nan_encoding(f, 0);
  if (magnitude == 0) return f.style == Style::Unsigned ? 0 : sign;

  int exponent = std::ilogb(magnitude);
  const int least = f.style == Style::Exponent ? -f.bias : 1 - f.bias;
  const bool tiny = exponent < least;
  if (tiny) exponent = least;
  // In units of the last place; scaling by a power of two is exact.
  const double scaled = std::ldexp(magnitude, f.mantissa_bits - exponent);
  const double whole = std::floor(scaled);
  auto bits = static_cast<std::uint64_t>(whole);
  if (f.style == Style::Exponent) {
    bits = tiny ? 0 : static_cast<std::uint64_t>(exponent + f.bias);
    if (tiny) return 0;  // nothing below the least power of two but the forbidden zero
  } else if (!tiny) {
    const auto implicit = std::uint64_t(1) << f.mantissa_bits;
    bits = (static_cast<std::uint64_t>(exponent + f.bias) << f.mantissa_bits) + (bits - implicit);
  }
  // The encodings of consecutive numbers are consecutive, so a carry is a plain increment.
  const double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && (bits & 1) != 0)) ++bits;
  if (bits > largest_finite(f)) return overflow_encoding(f, sign);
  if (bits == 0 && f.style == Style::Unsigned) return 0;
  return sign | static_cast<std::uint32_t>(bits);
}

}  // namespace rldb::runtime
