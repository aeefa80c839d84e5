// Names of the operators of nn.def: op::NnPad is "relax.nn.pad", short_op::NnPad is "nn.pad".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/nn.def"
#include "rldb/ir/op/names.inc"
