// Names of the operators of inspect.def: op::ShapeOf is "relax.shape_of", short_op::ShapeOf is "shape_of".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/inspect.def"
#include "rldb/ir/op/names.inc"
