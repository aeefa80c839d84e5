// The names of the operators in closure.def, as constants: op::MakeClosure in full, short_op::MakeClosure as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/closure.def"
#include "rldb/ir/op/names.inc"
