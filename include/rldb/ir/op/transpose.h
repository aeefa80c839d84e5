// The names of the operators in transpose.def, as constants: op::LayoutTransform in full,
// short_op::LayoutTransform as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/transpose.def"
#include "rldb/ir/op/names.inc"
