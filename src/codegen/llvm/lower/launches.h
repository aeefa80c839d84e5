// T.launch_thread as thread-bound loops. Room-private; user: Jit.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::codegen {

// The function itself if nothing is launched.
const ir::PrimFunc* launches_as_loops(ir::Context& ctx, const ir::PrimFunc* f);

}  // namespace rldb::codegen
