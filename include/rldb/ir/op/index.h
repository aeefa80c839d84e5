// Names of the operators of index.def: op::GatherElements is "relax.gather_elements", short_op::GatherElements is
// "gather_elements".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/index.def"
#include "rldb/ir/op/names.inc"
