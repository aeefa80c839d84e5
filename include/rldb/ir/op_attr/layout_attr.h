// Names of the attributes of layout_attr.def: op_attr::DataLayout is "data_layout".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/layout_attr.def"
#include "rldb/ir/op_attr/names.inc"
