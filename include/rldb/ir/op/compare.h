// The names of the operators in compare.def, as constants: op::Equal in full, short_op::Equal as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/compare.def"
#include "rldb/ir/op/names.inc"
