// Coverage: which tensors and allocations a PrimFunc may leave partly unwritten.
//
// Storage is planned and used again, so an element that a kernel does not write holds what was there before; another
// engine, which allocates afresh, has zero there. The machine clears the tensors named here before such a kernel
// (runtime::KernelParam::may_leave_unwritten), and compiled kernels clear such allocations. Users: eval, codegen_llvm.
#pragma once

#include <unordered_set>
#include <vector>

#include "rldb/ir/stmt.h"

namespace rldb::eval {

// Per parameter: it is written, and not provably at each of its elements in each run. Proved are stores whose indices
// are distinct loops over whole dimensions, under no condition, inside of loops that run at least once.
std::vector<bool> may_leave_unwritten(const ir::PrimFunc* f);

// Allocations that are not provably written at each of their elements: a reduction over no elements writes nothing.
std::unordered_set<const ir::Buffer*> allocations_left_unwritten(const ir::PrimFunc* f);

}  // namespace rldb::eval
