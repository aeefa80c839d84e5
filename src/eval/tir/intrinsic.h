// TensorIR intrinsics that are functions of their argument values: tir.exp, tir.floor, tir.popcount, ...
// Lazy ones (if_then_else) and ones with effects are left to the expression evaluator.
#pragma once

#include <span>

#include "eval/tir/scalar_value.h"
#include "rldb/ir/intrinsic.h"

namespace rldb::eval {

using IntrinsicFn = Scalar (*)(std::span<const Scalar> args, DType arg_type, DType result_type);
// Null for those that the evaluator computes in another way, or not at all.
IntrinsicFn body_of(const ir::IntrinsicInfo& row);
// The dtypes that its body reads as an operand; a call with another one must be refused.
enum class OperandKind : std::uint8_t { Any, Float, Integer };
OperandKind operand_kind(const ir::IntrinsicInfo& row, int operand);

}  // namespace rldb::eval
