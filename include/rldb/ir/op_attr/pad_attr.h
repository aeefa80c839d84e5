// Names of the attributes of pad_attr.def: op_attr::PadMode is "pad_mode".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/pad_attr.def"
#include "rldb/ir/op_attr/names.inc"
