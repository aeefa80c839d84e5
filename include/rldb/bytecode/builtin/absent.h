// The names of the builtins of absent.def: builtin::CallOperator is "rldb.call_operator".
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/absent.def"
#include "rldb/bytecode/builtin/names.inc"
