// T.launch_thread as thread-bound loops. Room-private; user: Jit.
#pragma once

#include <string>

#include "rldb/ir/context.h"
#include "rldb/support/result.h"

namespace rldb::codegen {

// The function itself if nothing is launched, and no threads are inside of the same threads. The error: those cannot be
// one, as their extents differ.
support::Result<const ir::PrimFunc*, std::string> launches_as_loops(ir::Context& ctx, const ir::PrimFunc* f);

}  // namespace rldb::codegen
