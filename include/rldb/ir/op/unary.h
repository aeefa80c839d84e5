// The names of the operators in unary.def, as constants: op::Abs in full, short_op::Abs as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/unary.def"
#include "rldb/ir/op/names.inc"
