// Kernels of random programs. Room-private.
#pragma once

#include <vector>

#include "repro/fuzz/random.h"
#include "rldb/ir/module.h"

namespace rldb::repro {

// A kernel of a random tensor expression over float32 tensors, added to the module, and a call of it: elements of the
// inputs at the same index, at the mirrored one, or broadcast; then, now and then, a reduction of the last axis. Null:
// these inputs do not fit together.
const ir::Call* random_kernel_call(ir::Context& ctx, Random& random, ir::ModuleBuilder& module,
                                   const std::vector<const ir::Var*>& inputs);

// A call_tir_inplace of a new kernel that writes over `input`, whose memory nobody else may read.
const ir::Call* random_in_place_call(ir::Context& ctx, Random& random, ir::ModuleBuilder& module, const ir::Var* input);

}  // namespace rldb::repro
