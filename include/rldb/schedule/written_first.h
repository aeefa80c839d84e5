// Whether the iterations of a loop are independent through a buffer that only the loop uses: each element that an
// iteration reads was written before in the same iteration. Then every piece of the loop may have memory of its own.
//
// Proved from the structure: a store in loops from 0 covers, when they end, a box of elements whose sides are mixed
// numbers of their variables (`panel[i, k * 4 + j]`); a read lies in such a box. Values are not looked at.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::schedule {

// False: not proved. Uses of the buffer's pointer are the caller's to exclude.
bool writes_before_reads(const ir::ForStmt* loop, const ir::Buffer* buffer);

}  // namespace rldb::schedule
