// Reductions over axes that are empty, or may be at run time. The init of a block belongs to the first step of its
// reduction, so that without a step nothing is written: TVM's kernels leave such a result as the memory was. Here it
// gets the init's value, the identity of the reduction, before the kernel runs: the product of no elements is 1. Users:
// eval, codegen_llvm.
#pragma once

#include <vector>

#include "rldb/ir/stmt.h"

namespace rldb::eval {

struct EmptyReduction {
  const ir::Buffer* buffer;              // a parameter, or memory of the kernel's own
  const ir::Expr* value;                 // a constant
  std::vector<const ir::Expr*> extents;  // one that is not positive: nothing is written to the buffer
};
// Those whose extents are over variables that are known when the kernel starts. In block form and lowered, where the
// init is a store under a condition `k == 0`.
std::vector<EmptyReduction> empty_reductions(const ir::PrimFunc* f);

}  // namespace rldb::eval
