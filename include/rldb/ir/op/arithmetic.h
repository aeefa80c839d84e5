// The names of the operators in arithmetic.def, as constants: op::Add in full, short_op::Add as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/arithmetic.def"
#include "rldb/ir/op/names.inc"
