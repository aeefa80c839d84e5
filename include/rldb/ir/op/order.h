// The names of the operators in order.def, as constants: op::Sort in full, short_op::Sort as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/order.def"
#include "rldb/ir/op/names.inc"
