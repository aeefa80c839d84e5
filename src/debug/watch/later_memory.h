// The memory of a value found again at a later time of a run: in a machine that executed the same instructions, in the
// same register. User: Watched.
#pragma once

#include <optional>

#include "rldb/runtime/value.h"
#include "rldb/vm/machine.h"

namespace rldb::debug {

// `value` is of `executed`, which is at the same time of the same run as `now`. The same tensors on the memory of
// `now`; those that nothing in it holds any longer stay as they are. Nullopt: nothing holds any of them.
std::optional<runtime::Value> found_again(const runtime::Value& value, const vm::Machine& executed,
                                          const vm::Machine& now);

}  // namespace rldb::debug
