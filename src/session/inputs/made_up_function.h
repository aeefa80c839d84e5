// A function for a parameter of function type. Room-private.
#pragma once

#include <optional>
#include <unordered_map>

#include "rldb/ir/context.h"
#include "rldb/runtime/value.h"

namespace rldb::session {

// Its results have the declared type and depend on the arguments, so that a program that passes others shows. `dims`:
// those that the type shares with the program. nullopt: the type leaves open what it takes or gives.
std::optional<runtime::Value> made_up_function(const ir::FuncType* type,
                                               std::unordered_map<const ir::Var*, std::int64_t> dims,
                                               std::uint64_t seed);

}  // namespace rldb::session
