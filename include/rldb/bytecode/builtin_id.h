// The builtins as numbers, for those who have a function for each: every new row builds what includes this again. Who
// asks which builtin is called compares names (builtin/<family>.h).
#pragma once

#include "rldb/bytecode/builtin.h"

namespace rldb::bytecode {

enum class BuiltinId : std::uint8_t {
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) id,
#include "rldb/bytecode/builtin.def"
};

}  // namespace rldb::bytecode
