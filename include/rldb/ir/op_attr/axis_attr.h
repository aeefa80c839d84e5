// The names of the attributes in axis_attr.def, as constants: op_attr::Axes.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/axis_attr.def"
#include "rldb/ir/op_attr/names.inc"
