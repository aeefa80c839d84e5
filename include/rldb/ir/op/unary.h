// Names of the operators of unary.def: op::Abs is "relax.abs", short_op::Abs is "abs".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/unary.def"
#include "rldb/ir/op/names.inc"
