// Names of the operators of manipulation.def: op::BroadcastTo is "relax.broadcast_to", short_op::BroadcastTo is
// "broadcast_to".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/manipulation.def"
#include "rldb/ir/op/names.inc"
