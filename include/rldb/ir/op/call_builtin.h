// The names of the operators in call_builtin.def, as constants: op::CallBuiltinWithCtx in full,
// short_op::CallBuiltinWithCtx as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call_builtin.def"
#include "rldb/ir/op/names.inc"
