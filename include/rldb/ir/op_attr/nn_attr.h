// Names of the attributes of nn_attr.def: op_attr::Alpha is "alpha".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/nn_attr.def"
#include "rldb/ir/op_attr/names.inc"
