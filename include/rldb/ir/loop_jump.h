// Jumps that leave an iteration of a loop: T.break_loop, T.continue_loop. Users: TensorIR passes that copy or cut
// loops.
#pragma once

#include "rldb/ir/stmt.h"

namespace rldb::ir {

// Is there a jump in the body of a loop that belongs to this loop, not to one inside?
bool jumps(const Stmt* body);

}  // namespace rldb::ir
