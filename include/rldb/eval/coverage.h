// Coverage: which tensors and allocations a PrimFunc may leave partly unwritten.
//
// Planned storage is reused, so an element that a kernel does not write holds what was there before; another
// engine, which allocates afresh, has zero there. The machine clears the tensors named here before such a kernel
// (runtime::KernelParam::may_leave_unwritten), and compiled kernels clear such allocations. Users: eval, codegen_llvm.
#pragma once

#include <unordered_set>
#include <vector>

#include "rldb/ir/stmt.h"

namespace rldb::eval {

// Per parameter: whether it is written, but not provably at each element in each run. Proved are stores whose indices
// are distinct loops over whole dimensions, unconditional, inside loops that run at least once.
std::vector<bool> may_leave_unwritten(const ir::PrimFunc* f);

// Allocations that are not provably written at each element before they are read: a reduction over no elements writes
// nothing.
std::unordered_set<const ir::Buffer*> allocations_left_unwritten(const ir::PrimFunc* f);

}  // namespace rldb::eval
