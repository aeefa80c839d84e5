// The names of the operators in inspect.def, as constants: op::ShapeOf in full, short_op::ShapeOf as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/inspect.def"
#include "rldb/ir/op/names.inc"
