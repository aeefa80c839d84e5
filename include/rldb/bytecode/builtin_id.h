// The builtins as numbers, for tables with an entry for each: everything that includes this is rebuilt for every new
// row. To find out which builtin is called, compare names (builtin/<family>.h).
#pragma once

#include "rldb/bytecode/builtin.h"

namespace rldb::bytecode {

enum class BuiltinId : std::uint8_t {
#define RLDB_BUILTIN(id, name, min_args, max_args, effect, arguments, doc) id,
#include "rldb/bytecode/builtin.def"
};

}  // namespace rldb::bytecode
