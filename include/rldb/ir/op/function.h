// The names of the operators in function.def, as constants: op::Acos in full, short_op::Acos as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/function.def"
#include "rldb/ir/op/names.inc"
