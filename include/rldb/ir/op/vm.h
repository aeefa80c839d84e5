// The names of the operators in vm.def, as constants: op::VmAllocStorage in full, short_op::VmAllocStorage as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/vm.def"
#include "rldb/ir/op/names.inc"
