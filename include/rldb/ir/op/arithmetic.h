// Names of the operators of arithmetic.def: op::Add is "relax.add", short_op::Add is "add".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/arithmetic.def"
#include "rldb/ir/op/names.inc"
