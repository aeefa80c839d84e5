// The names of the operators in call_packed.def, as constants: op::CallPurePacked in full,
// short_op::CallPurePacked as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call_packed.def"
#include "rldb/ir/op/names.inc"
