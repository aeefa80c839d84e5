// T.launch_thread without barriers as loops over its threads, as the evaluator runs it. Room-private; user: Jit.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::codegen {

// The function itself where nothing is launched, or where threads wait for each other: that is refused when it is
// lowered.
const ir::PrimFunc* launches_as_loops(ir::Context& ctx, const ir::PrimFunc* f);

}  // namespace rldb::codegen
