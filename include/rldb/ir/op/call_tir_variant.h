// Names of the operators of call_tir_variant.def: op::CallTirInplace is "relax.call_tir_inplace",
// short_op::CallTirInplace is "call_tir_inplace".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call_tir_variant.def"
#include "rldb/ir/op/names.inc"
