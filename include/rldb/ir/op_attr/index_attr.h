// Names of the attributes of index_attr.def: op_attr::AssumeInbound is "assume_inbound".
#pragma once

#define RLDB_OP_ATTR_ROWS "rldb/ir/op_attr/index_attr.def"
#include "rldb/ir/op_attr/names.inc"
