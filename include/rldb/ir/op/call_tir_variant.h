// The names of the operators in call_tir_variant.def, as constants: op::CallTirInplace in full,
// short_op::CallTirInplace as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/call_tir_variant.def"
#include "rldb/ir/op/names.inc"
