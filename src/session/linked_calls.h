// Calls of PrimFuncs by PrimFuncs of a module. Room-private.
#pragma once

#include "rldb/ir/module.h"
#include "rldb/runtime/packed.h"

namespace rldb::session {

// The module with such calls as calls of packed functions, which are registered; the module itself if it has none.
const ir::Module* with_linked_calls(ir::Context& ctx, const ir::Module* module, runtime::PackedRegistry& registry);

}  // namespace rldb::session
