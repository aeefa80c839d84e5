// The names of the attributes in pad_attr.def, as constants: op_attr::PadMode.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/pad_attr.def"
#include "rldb/ir/op_attr/names.inc"
