// Functions of one scalar operand, folded and expanded as TVM's functions of that name do when they are called. Users:
// the front end, LegalizeOps, LowerIntrin.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::ir {

// A literal or a whole number has its floor, ceil, round and trunc already, |x| of an integer is a choice, no integer
// is NaN, and isinf and isfinite compare |x| with infinity. The call itself for every other function.
const Expr* make_unary(Context& ctx, Intrinsic id, const Expr* x);

}  // namespace rldb::ir
