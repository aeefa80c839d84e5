// The names of the operators in memory.def, as constants: op::BuiltinAllocTensor in full,
// short_op::BuiltinAllocTensor as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/memory.def"
#include "rldb/ir/op/names.inc"
