// Copies of values that share nothing mutable with them except the program's constants. Room-private.
#pragma once

#include "rldb/relay/vm/machine.h"

namespace rldb::relay_vm {

// In place; aliases stay aliases.
Result<support::Unit> copy_values(const Program& program, std::vector<Value>& values);
// Bytes of tensor data that this would copy.
std::size_t copied_bytes(const Program& program, std::span<const Value> values);

}  // namespace rldb::relay_vm
