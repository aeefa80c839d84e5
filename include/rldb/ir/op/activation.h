// Names of the operators of activation.def: op::NnRelu is "relax.nn.relu", short_op::NnRelu is "nn.relu".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/activation.def"
#include "rldb/ir/op/names.inc"
