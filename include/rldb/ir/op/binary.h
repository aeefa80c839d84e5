// Names of the operators of binary.def: op::Atan2 is "relax.atan2", short_op::Atan2 is "atan2".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/binary.def"
#include "rldb/ir/op/names.inc"
