// Copies of values that share no memory with the originals.
#pragma once

#include <span>
#include <string>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// Tensors and storages, also inside tuples, are copied (a shared storage becomes one per tensor); everything
// else is immutable or not ours, and shared. Errors: out of memory.
Result<Value> copy_of(const Value& value);

// The tensor, or the tensors of a tuple, on that device: copies, which are counted as traffic, of those that are not
// there. Other values are everywhere.
Result<Value> on_device(const Value& value, Device device);
// Empty, or where the first two tensors are that are not on one device: "argument 1 is on cuda:0, argument 0 on cpu".
std::string devices_differ(std::span<const Value> args);

}  // namespace rldb::runtime
