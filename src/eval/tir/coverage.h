// Coverage: which tensors a PrimFunc may leave partly unwritten.
//
// Storage is planned and used again, so an element that a kernel does not write holds what was there before; another
// engine, which allocates afresh, has zero there. The machine clears the tensors named here before such a kernel
// (runtime::KernelParam::may_leave_unwritten). Internal to the room.
#pragma once

#include <vector>

#include "rldb/ir/stmt.h"

namespace rldb::eval {

// Per parameter: it is written, and not provably at each of its elements in each run. Proved are stores whose indices
// are distinct loops over whole dimensions, under no condition, inside of loops that run at least once.
std::vector<bool> may_leave_unwritten(const ir::PrimFunc* f);

}  // namespace rldb::eval
