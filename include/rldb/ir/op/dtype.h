// Names of the operators of dtype.def: op::Astype is "relax.astype", short_op::Astype is "astype".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/dtype.def"
#include "rldb/ir/op/names.inc"
