// Names of the attributes of window_attr.def: op_attr::CeilMode is "ceil_mode".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/window_attr.def"
#include "rldb/ir/op_attr/names.inc"
