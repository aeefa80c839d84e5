// Attributes of a function that bound its symbolic variables: tir_var_upper_bound, tir_var_lower_bound.
#pragma once

#include <optional>
#include <string>

#include "rldb/ir/context.h"

namespace rldb::ir {

// In words, an upper bound that is not a positive integer, or a lower bound that is not an integer: no storage can be
// planned with it, and no engine runs the function.
std::optional<std::string> invalid_bound(const Function* f);

}  // namespace rldb::ir
