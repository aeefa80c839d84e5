// The names of the operators in binary.def, as constants: op::Atan2 in full, short_op::Atan2 as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/binary.def"
#include "rldb/ir/op/names.inc"
