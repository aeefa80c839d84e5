// Threads that meet at barriers, as loops: what is between two barriers becomes a loop over the threads of a block.
// Room-private; user: Jit.
#pragma once

#include <string>

#include "rldb/ir/context.h"
#include "rldb/support/result.h"

namespace rldb::codegen {

// The function without barriers (T.tvm_storage_sync), when they are where all threads of a block come: memory of one
// thread (scope "local") and what it bound get a place for each thread. The error says what stands in the way.
support::Result<const ir::PrimFunc*, std::string> split_at_barriers(ir::Context& ctx, const ir::PrimFunc* f);

}  // namespace rldb::codegen
