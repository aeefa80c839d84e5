// The types of calls that a pass makes: those that their text would have.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::passes {

// The call with the type that inference gives it, as if its text were read again; unchanged when inference fails.
const ir::Call* with_inferred_type(ir::Context& ctx, const ir::Call* c);

}  // namespace rldb::passes
