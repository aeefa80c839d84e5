// The names of the operators in call_tir.def, as constants: op::CallTir in full, short_op::CallTir as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call_tir.def"
#include "rldb/ir/op/names.inc"
