// Kernels in GPU threads, for the operators that have one: running sums and products. Users: DispatchSortScan.
#pragma once

#include "rldb/ops/legalize.h"

namespace rldb::ops {

// Whether gpu_kernel makes code of the operator.
bool has_gpu_kernel(const ir::Call* call);
// The call_tir that replaces the call; `threads`: the most that a block of the device may have.
Result<const ir::Expr*> gpu_kernel(Legalizer& l, const ir::Call* call, std::int64_t threads);

}  // namespace rldb::ops
