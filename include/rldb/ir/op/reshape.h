// The names of the operators in reshape.def, as constants: op::BroadcastTo in full, short_op::BroadcastTo as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/reshape.def"
#include "rldb/ir/op/names.inc"
