// The names of the attributes in vision_attr.def, as constants: op_attr::Aligned.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/vision_attr.def"
#include "rldb/ir/op_attr/names.inc"
