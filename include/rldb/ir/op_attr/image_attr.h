// Names of the attributes of image_attr.def: op_attr::AlignCorners is "align_corners".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/image_attr.def"
#include "rldb/ir/op_attr/names.inc"
