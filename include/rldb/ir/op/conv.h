// The names of the operators in conv.def, as constants: op::NnConv1d in full, short_op::NnConv1d as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/conv.def"
#include "rldb/ir/op/names.inc"
