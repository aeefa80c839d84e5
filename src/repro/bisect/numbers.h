// Numbers of generated inputs and of results, as bisection looks at them. Room-private.
#pragma once

#include "rldb/repro/tensor_difference.h"
#include "rldb/runtime/value.h"

namespace rldb::repro {

bool is_plain_float(const runtime::Tensor& t);    // lanes 1
bool is_plain_integer(const runtime::Tensor& t);  // at least 8 bits, no bool
bool has_integers(const runtime::Value& v);
void store(const runtime::Tensor& t, std::int64_t i, double value);

// Sums in other orders: the allowed error of every element, relative to the mean magnitude of the tensor's elements. An
// element that is small because large terms cancelled is off by more than its own magnitude allows.
inline constexpr double kRounding = 256, kUsualRounding = 16;
bool is_rounding(const runtime::Value& a, const TensorDifference& d, double most = kRounding);

// Integers 0 to 9. Products of two of them are in range, so that nothing depends on overflow behaviour.
void widen(const runtime::Tensor& t);

// An element is finite on one side only, and no rounding could push it over the limit of the format.
bool overflows_on_one_side(const runtime::Value& a, const runtime::Value& b);

// NaN or infinite elements of a result. Differences are invisible where values are not finite.
std::int64_t not_finite(const runtime::Value& result);

// Results computed from large numbers have large rounding errors.
Tolerances of_large_numbers(Tolerances t);

}  // namespace rldb::repro
