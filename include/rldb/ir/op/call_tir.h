// Names of the operators of call_tir.def: op::CallTir is "relax.call_tir", short_op::CallTir is "call_tir".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call_tir.def"
#include "rldb/ir/op/names.inc"
