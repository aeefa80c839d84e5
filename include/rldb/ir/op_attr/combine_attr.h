// Names of the attributes of combine_attr.def: op_attr::Accumulate is "accumulate".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/combine_attr.def"
#include "rldb/ir/op_attr/names.inc"
