// Names of the operators of vm.def: op::VmAllocStorage is "relax.vm.alloc_storage", short_op::VmAllocStorage is
// "vm.alloc_storage".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/vm.def"
#include "rldb/ir/op/names.inc"
