// From a schedulable PrimFunc to loops in threads: TVM's passes for GPUs up to the generation of code, without those
// that only make it faster. An error is the pass's own. Users: codegen/opencl, codegen/nvptx.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::codegen {

// Statements without blocks: threads are launched by T.attr(thread_extent), one variable for each kind of thread;
// shared memory has its barriers; reductions over threads go through shared memory. Buffers keep their dimensions.
ir::Result<const ir::PrimFunc*> lowered_for_gpu(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name);

}  // namespace rldb::codegen
