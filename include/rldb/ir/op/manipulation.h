// Names of the operators of manipulation.def: op::Concat is "relax.concat", short_op::Concat is "concat".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/manipulation.def"
#include "rldb/ir/op/names.inc"
