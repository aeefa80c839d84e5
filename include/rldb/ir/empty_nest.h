// Loop nests that do nothing: one loop inside another has no iterations, however many the outer ones have. A tensor of
// shape (2**32, 2**32, 0) is filled by such a nest. Users: eval, the JIT.
#pragma once

#include <vector>

#include "rldb/ir/stmt.h"

namespace rldb::ir {

// The extents of the loops nested directly in a loop (nothing else is in the bodies between them) that can be computed
// before it: they depend on no variable of the nest, and computing them can neither fail nor read memory. If one is not
// positive the whole nest does nothing. Positive constants are left out.
std::vector<const Expr*> extents_within(const ForStmt* loop);

}  // namespace rldb::ir
