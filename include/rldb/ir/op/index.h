// The names of the operators in index.def, as constants: op::GatherElements in full,
// short_op::GatherElements as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/index.def"
#include "rldb/ir/op/names.inc"
