// Functions of scalar operands that are intrinsics, folded and expanded as TVM's functions of that name do when they
// are called. Users: the front end, LegalizeOps, LowerIntrin.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::ir {

// A literal or a whole number has its floor, ceil, round and trunc already, |x| of an integer is a choice, no integer
// is NaN, isinf and isfinite compare |x| with infinity, and a literal is not said to be likely. The call itself for
// every other function.
const Expr* make_unary(Context& ctx, Intrinsic id, const Expr* x);
// bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right: of two literals of int32 or int64 a literal; a shift
// by 0 is its operand. Operands of one dtype.
const Expr* make_bits(Context& ctx, Intrinsic id, const Expr* a, const Expr* b);

}  // namespace rldb::ir
