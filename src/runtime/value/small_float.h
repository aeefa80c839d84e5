// Small floats: every binary format below float64, by one table and one algorithm.
//
// A format is sign, exponent, mantissa, with one of these conventions for the top encodings. Encoding rounds
// to nearest even directly from a double (no double rounding). Used by dtype.cc and the literal generator.
#pragma once

#include <cstdint>

#include "rldb/runtime/dtype.h"

namespace rldb::runtime {

enum class SmallFloatStyle : std::uint8_t {
  Ieee,       // top exponent: infinity and NaN
  FiniteNan,  // "fn" with NaN: all ones is NaN, no infinity; overflow gives NaN
  Finite,     // "fn" without NaN: overflow and infinity saturate, NaN becomes -0
  Unsigned,   // "fnuz": 0x80 is NaN, no negative zero, no infinity; overflow gives NaN
  Exponent,   // "e8m0fnu": no sign, no zero; 0xff is NaN
};

struct SmallFloat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  SmallFloatStyle style = SmallFloatStyle::Ieee;
  int total_bits() const { return exponent_bits + mantissa_bits + (style == SmallFloatStyle::Exponent ? 0 : 1); }
};

// The format of a floating dtype below 64 bits (float32 included), or null.
const SmallFloat* small_float(DType t);
double decode_small(const SmallFloat& f, std::uint32_t bits);
std::uint32_t encode_small(const SmallFloat& f, double value);

}  // namespace rldb::runtime
