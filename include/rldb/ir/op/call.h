// Names of the operators of call.def: op::CallTir is "relax.call_tir", short_op::CallTir is "call_tir".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call.def"
#include "rldb/ir/op/names.inc"
