// Kernels in GPU threads, for the operators that have one: sorts, running sums and products. Users: DispatchSortScan.
#pragma once

#include "rldb/ops/legalize.h"

namespace rldb::ops {

struct GpuDevice {
  std::int64_t threads;       // the most that a block may have
  bool counts_zeros = false;  // Vulkan: logarithms are counts of leading zeros, and launches have fixed sizes
};

// Whether gpu_kernel makes code of the operator.
bool has_gpu_kernel(const ir::Call* call);
// The call_tir that replaces the call.
Result<const ir::Expr*> gpu_kernel(Legalizer& l, const ir::Call* call, const GpuDevice& device);

}  // namespace rldb::ops
