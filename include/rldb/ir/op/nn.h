// The names of the operators in nn.def, as constants: op::NnPad in full, short_op::NnPad as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/nn.def"
#include "rldb/ir/op/names.inc"
