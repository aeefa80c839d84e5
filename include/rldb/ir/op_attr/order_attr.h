// Names of the attributes of order_attr.def: op_attr::Descending is "descending".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/order_attr.def"
#include "rldb/ir/op_attr/names.inc"
