// Headers of blocks that do not parse: their errors stand beside the block (copy_rows.h).
#pragma once

#include "frontend/cst/tree.h"

namespace rldb::frontend::cst {

// Of a compound statement: the header itself, not those within its block.
bool has_damaged_header(Node compound);
// The same for it or for any compound statement inside.
bool holds_damaged_header(Node compound);

}  // namespace rldb::frontend::cst
