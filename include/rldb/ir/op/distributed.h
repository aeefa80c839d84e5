// Names of the operators of distributed.def: op::CclAllreduce is "relax.ccl.allreduce", short_op::CclAllreduce is
// "ccl.allreduce".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/distributed.def"
#include "rldb/ir/op/names.inc"
