// Copies of values that share no memory with the originals.
#pragma once

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// Tensors and storages, also inside tuples, are copied (a shared storage becomes one per tensor); everything
// else is immutable or not ours, and shared. Errors: out of memory.
Result<Value> copy_of(const Value& value);

}  // namespace rldb::runtime
