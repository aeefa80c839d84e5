// Numbers as NumPy writes them: the shortest digits that read back as the same value in the element's own format.
// Used by format.cc and compare.cc.
#pragma once

#include <string>

#include "rldb/runtime/dtype.h"

namespace rldb::runtime {

// Finite values only. "12.", "0.1": digits, a point, at most `precision` digits after it, no trailing zeros.
std::string shortest_fixed(double v, DType t, int precision);
// "1.5e+10": at least two exponent digits.
std::string shortest_scientific(double v, DType t, int precision);
// A number by itself, as Python prints a scalar: "1.0", "1e-05", "inf".
std::string scalar_text(double v, DType t);
// Any element of lanes 1.
std::string element_text(const void* data, DType t);

}  // namespace rldb::runtime
