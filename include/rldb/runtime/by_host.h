// Functions that the host computes for tensors of a device. Users: vm, eval, session.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// A function that computes on the host, for tensors of any one device: copies of them, which are counted as traffic, as
// those of the result, which returns to that device. Tensors of several devices are an error that names two.
Result<Value> by_host(std::string_view what, std::span<const Value> args,
                      const std::function<Result<Value>(std::span<const Value>)>& function);

}  // namespace rldb::runtime
