// Attributes of a function that bound its symbolic variables: tir_var_upper_bound, tir_var_lower_bound.
#pragma once

#include <optional>
#include <string_view>

#include "rldb/ir/context.h"

namespace rldb::ir {

// The name of a variable whose upper bound is no positive integer, or whose lower bound is no integer: no storage can
// be planned with it, and no engine runs the function.
std::optional<std::string_view> invalid_bound(const Function* f);

}  // namespace rldb::ir
