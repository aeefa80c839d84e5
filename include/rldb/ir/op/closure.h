// Names of the operators of closure.def: op::MakeClosure is "relax.make_closure", short_op::MakeClosure is
// "make_closure".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/closure.def"
#include "rldb/ir/op/names.inc"
