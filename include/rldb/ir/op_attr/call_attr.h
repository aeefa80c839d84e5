// Names of the attributes of call_attr.def: op_attr::DeviceMesh is "device_mesh".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/call_attr.def"
#include "rldb/ir/op_attr/names.inc"
