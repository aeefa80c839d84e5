// The names of the builtins in heap.def, as constants: builtin::AllocShapeHeap.
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/heap.def"
#include "rldb/bytecode/builtin/names.inc"
