// Names of the attributes of axis_attr.def: op_attr::Axes is "axes".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/axis_attr.def"
#include "rldb/ir/op_attr/names.inc"
