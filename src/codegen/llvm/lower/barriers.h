// Threads that meet at barriers, as loops: the code between two barriers becomes a loop over the threads of a block.
// Room-private; user: Jit.
#pragma once

#include <string>

#include "rldb/ir/context.h"
#include "rldb/support/result.h"

namespace rldb::codegen {

// The function without barriers (T.tvm_storage_sync), if they are at places that all threads of a block reach: memory
// of one thread (scope "local") and its bound values get a place per thread. The error names the obstacle.
support::Result<const ir::PrimFunc*, std::string> split_at_barriers(ir::Context& ctx, const ir::PrimFunc* f);

}  // namespace rldb::codegen
