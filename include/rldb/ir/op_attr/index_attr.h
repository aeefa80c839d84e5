// The names of the attributes in index_attr.def, as constants: op_attr::AssumeInbound.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/index_attr.def"
#include "rldb/ir/op_attr/names.inc"
