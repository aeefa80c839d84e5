// Names of the attributes of axis_role_attr.def: op_attr::BatchAxis is "batch_axis".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/axis_role_attr.def"
#include "rldb/ir/op_attr/names.inc"
