// Names of the operators of function.def: op::Acos is "relax.acos", short_op::Acos is "acos".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/function.def"
#include "rldb/ir/op/names.inc"
