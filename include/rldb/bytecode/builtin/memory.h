// The names of the builtins of memory.def: builtin::AllocStorage is "vm.builtin.alloc_storage".
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/memory.def"
#include "rldb/bytecode/builtin/names.inc"
