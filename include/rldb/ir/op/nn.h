// Names of the operators of nn.def: op::NnRelu is "relax.nn.relu", short_op::NnRelu is "nn.relu".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/nn.def"
#include "rldb/ir/op/names.inc"
