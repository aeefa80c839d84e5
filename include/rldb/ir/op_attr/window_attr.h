// The names of the attributes in window_attr.def, as constants: op_attr::CeilMode.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/window_attr.def"
#include "rldb/ir/op_attr/names.inc"
