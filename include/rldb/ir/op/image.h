// Names of the operators of image.def: op::ImageResize2d is "relax.image.resize2d", short_op::ImageResize2d is
// "image.resize2d".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/image.def"
#include "rldb/ir/op/names.inc"
