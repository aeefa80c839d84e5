// Names of the attributes of vision_attr.def: op_attr::Aligned is "aligned".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/vision_attr.def"
#include "rldb/ir/op_attr/names.inc"
