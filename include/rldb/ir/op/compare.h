// Names of the operators of compare.def: op::Equal is "relax.equal", short_op::Equal is "equal".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/compare.def"
#include "rldb/ir/op/names.inc"
