// The names of the builtins of heap.def: builtin::AllocShapeHeap is "vm.builtin.alloc_shape_heap".
#pragma once

#define RLDB_BUILTIN_ROWS "rldb/bytecode/builtin/heap.def"
#include "rldb/bytecode/builtin/names.inc"
