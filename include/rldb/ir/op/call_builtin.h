// Names of the operators of call_builtin.def: op::CallBuiltinWithCtx is "relax.call_builtin_with_ctx",
// short_op::CallBuiltinWithCtx is "call_builtin_with_ctx".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call_builtin.def"
#include "rldb/ir/op/names.inc"
