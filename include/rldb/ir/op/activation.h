// The names of the operators in activation.def, as constants: op::NnRelu in full, short_op::NnRelu as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/activation.def"
#include "rldb/ir/op/names.inc"
