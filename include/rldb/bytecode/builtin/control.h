// The names of the builtins in control.def, as constants: builtin::ReadIfCond.
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/control.def"
#include "rldb/bytecode/builtin/names.inc"
