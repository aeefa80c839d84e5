// A copy of a kernel for a module that keeps the original: functions of a module share no symbolic variables and
// no memory.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::passes {

// The same function over symbolic variables and buffers of its own.
const ir::PrimFunc* with_own_symbols(ir::Context& ctx, const ir::PrimFunc* f);

}  // namespace rldb::passes
