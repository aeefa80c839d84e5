// Names of the attributes of dtype_attr.def: op_attr::Dtype is "dtype".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/dtype_attr.def"
#include "rldb/ir/op_attr/names.inc"
