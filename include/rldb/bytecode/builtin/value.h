// The names of the builtins of value.def: builtin::Copy is "vm.builtin.copy".
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/value.def"
#include "rldb/bytecode/builtin/names.inc"
