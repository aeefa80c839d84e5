// The names of the attributes in call_attr.def, as constants: op_attr::DeviceMesh.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/call_attr.def"
#include "rldb/ir/op_attr/names.inc"
