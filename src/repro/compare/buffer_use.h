// Which parameters of a kernel are read, and which are written. Room-private.
#pragma once

#include <vector>

#include "rldb/ir/context.h"

namespace rldb::repro {

struct BufferUse {
  bool read = false;
  bool written = false;
};

// By parameter. One whose pointer escapes counts as both.
std::vector<BufferUse> buffer_use(const ir::PrimFunc* f);

}  // namespace rldb::repro
