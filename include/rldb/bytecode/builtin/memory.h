// The names of the builtins in memory.def, as constants: builtin::AllocStorage.
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/memory.def"
#include "rldb/bytecode/builtin/names.inc"
