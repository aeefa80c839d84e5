// Shared by the operators that work element by element (unary.cc, binary.cc).
#pragma once

#include "ops/legal/util.h"

namespace rldb::ops::legal {

// The result with the type of the call: the truth value of numeric operands is a number, and a scalar beside a 0-d
// tensor counts as one dim of 1.
Tensor as_typed(Topi& t, const ir::Call* c, Tensor r);

}  // namespace rldb::ops::legal
