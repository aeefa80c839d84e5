// Copies of values that share no memory with what they are made from.
#pragma once

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// Tensors and storages, also inside of tuples, are copied (what was one storage becomes one per tensor); everything
// else is immutable or not ours, and shared. Errors: no memory.
Result<Value> copy_of(const Value& value);

}  // namespace rldb::runtime
