// The names of the operators in reduction.def, as constants: op::Sum in full, short_op::Sum as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/reduction.def"
#include "rldb/ir/op/names.inc"
