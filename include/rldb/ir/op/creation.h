// The names of the operators in creation.def, as constants: op::Full in full, short_op::Full as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/creation.def"
#include "rldb/ir/op/names.inc"
