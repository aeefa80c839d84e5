// The names of the attributes in dtype_attr.def, as constants: op_attr::Dtype.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/dtype_attr.def"
#include "rldb/ir/op_attr/names.inc"
