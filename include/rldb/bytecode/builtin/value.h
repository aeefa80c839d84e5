// The names of the builtins in value.def, as constants: builtin::Copy.
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/value.def"
#include "rldb/bytecode/builtin/names.inc"
