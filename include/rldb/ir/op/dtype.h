// The names of the operators in dtype.def, as constants: op::Astype in full, short_op::Astype as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/dtype.def"
#include "rldb/ir/op/names.inc"
