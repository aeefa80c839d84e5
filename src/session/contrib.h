// Packed functions of TVM that lowered programs call, by their names in bytecode/runtime_function.def.
// Room-private.
#pragma once

#include "rldb/runtime/packed.h"

namespace rldb::session {

void register_contrib(runtime::PackedRegistry& registry);

}  // namespace rldb::session
