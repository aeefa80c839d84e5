// The intrinsics of control.def as constants: intrin::IfThenElse is the row of "if_then_else".
#pragma once

#define RLDB_INTRINSIC_FAMILY Control
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/control.def"
#include "rldb/ir/intrinsic/constants.inc"
