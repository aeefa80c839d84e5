// Names of the operators of reshape.def: op::BroadcastTo is "relax.broadcast_to", short_op::BroadcastTo is
// "broadcast_to".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/reshape.def"
#include "rldb/ir/op/names.inc"
