// Names of the operators of order.def: op::Sort is "relax.sort", short_op::Sort is "sort".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/order.def"
#include "rldb/ir/op/names.inc"
