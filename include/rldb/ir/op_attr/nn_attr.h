// The names of the attributes in nn_attr.def, as constants: op_attr::Alpha.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/nn_attr.def"
#include "rldb/ir/op_attr/names.inc"
