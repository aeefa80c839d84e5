// Names of the operators of transpose.def: op::LayoutTransform is "relax.layout_transform", short_op::LayoutTransform
// is "layout_transform".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/transpose.def"
#include "rldb/ir/op/names.inc"
