// Constant folding of one operator on two literals, shared by scalar.cc and arith: TVM's semantics, never undefined.
#pragma once

#include <cstdint>
#include <optional>

#include "rldb/ir/comparison.h"
#include "rldb/runtime/dtype.h"
#include "rldb/support/integer.h"

namespace rldb::ir {

using runtime::DType;

// The value of the literal, wrapped to the dtype (comparisons give 0 or 1); nullopt: division by zero.
std::optional<std::int64_t> fold_int(BinaryKind kind, DType t, std::int64_t a, std::int64_t b);
// nullopt if the operator is not defined on floats, or divides by zero.
std::optional<double> fold_float(BinaryKind kind, double a, double b);
bool fold_float_compare(Comparison op, double a, double b);
using support::floor_div;
using support::floor_mod;
std::int64_t wrap_to(DType t, std::int64_t v);  // two's complement value of the low bits

}  // namespace rldb::ir
