// The names of the operators in quantise.def, as constants: op::Quantize in full, short_op::Quantize as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/quantise.def"
#include "rldb/ir/op/names.inc"
