// Which of its parameters a kernel can write, by any means. Users: Skim, Writers.
#pragma once

#include <vector>

#include "rldb/ir/expr.h"

namespace rldb::debug {

// Never false for one that is written: a kernel that calls something with effects may write all of them.
std::vector<bool> may_write(const ir::PrimFunc* f);
// Whether what the kernel writes where, and from what, depends on the contents of some parameters: indices, conditions,
// loop bounds.
std::vector<bool> decides(const ir::PrimFunc* f);

}  // namespace rldb::debug
