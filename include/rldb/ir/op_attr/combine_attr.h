// The names of the attributes in combine_attr.def, as constants: op_attr::Accumulate.
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/combine_attr.def"
#include "rldb/ir/op_attr/names.inc"
