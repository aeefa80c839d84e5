// Names of the operators of conv.def: op::NnConv1d is "relax.nn.conv1d", short_op::NnConv1d is "nn.conv1d".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/conv.def"
#include "rldb/ir/op/names.inc"
