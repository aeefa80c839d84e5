// Positions in memory, written as indices. Internal to the room.
#pragma once

#include "rldb/ir/expr.h"

namespace rldb::schedule {

// The position of which the indices are the quotients and remainders by the dimensions of a compact buffer (p // d2 //
// d1, p // d2 % d1, p % d2); null: they are not.
const ir::Expr* position_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices);

}  // namespace rldb::schedule
