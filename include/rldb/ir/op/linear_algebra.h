// The names of the operators in linear_algebra.def, as constants: op::Matmul in full, short_op::Matmul as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/linear_algebra.def"
#include "rldb/ir/op/names.inc"
