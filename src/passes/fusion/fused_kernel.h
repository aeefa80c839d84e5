// One PrimFunc for a Relax function that only calls kernels: their bodies in sequence, with values passed between them
// in buffers of the function. Used by FuseTIR.
#pragma once

#include <optional>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

// A kernel and how it is called. Parameters: the tensors of the Relax parameters, then their scalars, then the outputs.
struct FusedKernel {
  const ir::PrimFunc* function = nullptr;
  // By output: the argument (among the tensors and scalars) whose memory it is written to, or -1.
  std::vector<std::int64_t> inplace;
  // By Relax parameter that is a shape: which of its dims are passed.
  std::vector<std::vector<std::size_t>> shape_dims;
  bool is_inplace() const;
};

// Nullopt when the function does more than call kernels, or one of them is not a single block, or shapes do not agree.
std::optional<FusedKernel> fuse_kernels(ir::Context& ctx, const ir::Module* module, const ir::Function* f);

}  // namespace rldb::passes
