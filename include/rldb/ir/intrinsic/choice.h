// The intrinsics of choice.def as constants: intrin::IfThenElse is the row of "if_then_else".
#pragma once

#define RLDB_INTRINSIC_FAMILY Choice
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/choice.def"
#include "rldb/ir/intrinsic/constants.inc"
