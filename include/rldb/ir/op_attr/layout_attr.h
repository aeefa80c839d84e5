// The names of the attributes in layout_attr.def, as constants: op_attr::DataLayout.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/layout_attr.def"
#include "rldb/ir/op_attr/names.inc"
