// Names of the operators of linear_algebra.def: op::Matmul is "relax.matmul", short_op::Matmul is "matmul".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/linear_algebra.def"
#include "rldb/ir/op/names.inc"
