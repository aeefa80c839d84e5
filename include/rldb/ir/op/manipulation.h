// The names of the operators in manipulation.def, as constants: op::Concat in full, short_op::Concat as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/manipulation.def"
#include "rldb/ir/op/names.inc"
