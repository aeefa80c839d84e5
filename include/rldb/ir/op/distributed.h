// The names of the operators in distributed.def, as constants: op::CclAllreduce in full,
// short_op::CclAllreduce as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/distributed.def"
#include "rldb/ir/op/names.inc"
