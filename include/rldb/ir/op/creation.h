// Names of the operators of creation.def: op::Full is "relax.full", short_op::Full is "full".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/creation.def"
#include "rldb/ir/op/names.inc"
