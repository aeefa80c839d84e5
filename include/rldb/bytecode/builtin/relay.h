// The names of the builtins in relay.def, as constants: builtin::AdtMake.
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/relay.def"
#include "rldb/bytecode/builtin/names.inc"
