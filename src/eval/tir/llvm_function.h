// Functions of integers and floats by LLVM's names, and products of fixed-point numbers. Room-private.
#pragma once

#include <span>

#include "eval/tir/scalar_value.h"
#include "rldb/ir/lowered_name.h"

namespace rldb::eval {

Scalar llvm_function(const ir::LlvmFunction& f, std::span<const Scalar> args, DType t);

// x * y * 2^(left - right - q), rounded to nearest, halves up.
struct FixedPoint {
  std::int64_t x, y, q, left, right;
  bool is_half = false;  // y is written as the literal 1 << 30
};
Scalar fixed_point_product(const FixedPoint& n);

}  // namespace rldb::eval
