// Names of the operators of memory.def: op::BuiltinAllocTensor is "relax.builtin.alloc_tensor",
// short_op::BuiltinAllocTensor is "builtin.alloc_tensor".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/memory.def"
#include "rldb/ir/op/names.inc"
