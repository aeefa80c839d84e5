// The names of the operators in grad.def, as constants: op::GradNoGrad in full, short_op::GradNoGrad as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/grad.def"
#include "rldb/ir/op/names.inc"
