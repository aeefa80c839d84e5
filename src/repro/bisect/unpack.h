// PrimFuncs of the packed calling convention (after MakePackedAPI) in their form before it. Room-private.
#pragma once

#include "rldb/ir/context.h"
#include "rldb/ir/module.h"

namespace rldb::repro {

// The same computation with the arguments as parameters: buffers, numbers. Of the checks of the records that hold
// them, those that fail for some arguments that are as declared are kept; so are dims that are read from another place.
// A function of another convention is returned as it is; null: its arguments could not be followed.
const ir::PrimFunc* unpacked(ir::Context& ctx, const ir::PrimFunc* f);

// Every kernel of a module. Those whose arguments cannot be followed stay as they are.
const ir::Module* with_unpacked(ir::Context& ctx, const ir::Module* module);

}  // namespace rldb::repro
