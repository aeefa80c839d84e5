// The names of the builtins of control.def: builtin::ReadIfCond is "vm.builtin.read_if_cond".
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/control.def"
#include "rldb/bytecode/builtin/names.inc"
