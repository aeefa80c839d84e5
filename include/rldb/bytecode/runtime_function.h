// The names of the packed functions that a session registers for lowered programs: runtime_function::Sort is
// "tvm.contrib.sort.sort".
#pragma once

#include <string_view>

namespace rldb::runtime_function {
#define RLDB_RUNTIME_FUNCTION(id, name, function, doc) inline constexpr std::string_view id = name;
#include "rldb/bytecode/runtime_function.def"
}  // namespace rldb::runtime_function
