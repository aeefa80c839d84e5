// The names of the builtins in absent.def, as constants: builtin::CallOperator.
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/absent.def"
#include "rldb/bytecode/builtin/names.inc"
