// Bodies in which no variable is defined twice, for passes that copy statements.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::passes {

// The same body when it is so already.
const ir::Stmt* single_definitions(ir::Context& ctx, const ir::PrimFunc* f, const ir::Stmt* body);

}  // namespace rldb::passes
