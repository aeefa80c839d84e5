// The names of the attributes in order_attr.def, as constants: op_attr::Descending.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/order_attr.def"
#include "rldb/ir/op_attr/names.inc"
