// Names of the operators of call_packed.def: op::CallPurePacked is "relax.call_pure_packed", short_op::CallPurePacked
// is "call_pure_packed".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call_packed.def"
#include "rldb/ir/op/names.inc"
