// The names of the operators in image.def, as constants: op::ImageResize2d in full, short_op::ImageResize2d as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/image.def"
#include "rldb/ir/op/names.inc"
