// Names of the operators of reduction.def: op::Sum is "relax.sum", short_op::Sum is "sum".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/reduction.def"
#include "rldb/ir/op/names.inc"
