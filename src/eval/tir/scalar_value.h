// Scalars of the evaluator and their arithmetic: every operation rounds to its dtype (float16 and bfloat16 compute in
// float32 and round once), integers wrap, divisions are TVM's (floor, truncated). The JIT is compared against this.
#pragma once

#include <cstdint>
#include <string>

#include "rldb/ir/node.h"
#include "rldb/runtime/dtype.h"
#include "rldb/runtime/error.h"
#include "rldb/support/integer.h"

namespace rldb::eval {

using runtime::DType;

// Integers, bools and pointers in `i`, floats in `f`; the dtype decides which one is valid.
struct Scalar {
  std::int64_t i = 0;
  double f = 0;
};

inline Scalar of_int(std::int64_t v) { return {v, 0}; }
inline Scalar of_float(double v) { return {0, v}; }
// Wraps an integer to its width and signedness.
std::int64_t wrap(std::int64_t value, DType t);
// Rounds to the format's nearest value.
double round_to(double value, DType t);
Scalar convert(Scalar v, DType from, DType to);
Scalar load(const void* data, DType t);
void store(void* data, DType t, Scalar v);
std::string to_text(Scalar v, DType t);

// `kind` is one of Add .. Or; `t` is the operands' dtype. Division by an integer zero is an error.
runtime::Result<Scalar> binary(ir::BinaryKind kind, Scalar a, Scalar b, DType t);

using support::floor_div;
using support::floor_mod;

}  // namespace rldb::eval
