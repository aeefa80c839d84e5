// TensorIR intrinsics that are functions of their argument values: tir.exp, tir.floor, tir.popcount, ...
// Lazy ones (if_then_else) and ones with effects are the expression evaluator's.
#pragma once

#include <span>
#include <string_view>

#include "eval/tir/scalar_value.h"

namespace rldb::eval {

using IntrinsicFn = Scalar (*)(std::span<const Scalar> args, DType arg_type, DType result_type);
struct Intrinsic {
  std::string_view name;  // without "tir."
  int arity;
  IntrinsicFn fn;
};
// Null when there is none of that name.
const Intrinsic* find_intrinsic(std::string_view name);

}  // namespace rldb::eval
