// The names of the attributes in image_attr.def, as constants: op_attr::AlignCorners.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/image_attr.def"
#include "rldb/ir/op_attr/names.inc"
