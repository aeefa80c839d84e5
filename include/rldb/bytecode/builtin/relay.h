// The names of the builtins of relay.def: builtin::AdtMake is "rldb.adt.make".
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/relay.def"
#include "rldb/bytecode/builtin/names.inc"
