// The intrinsics of control.def as constants: intrin::ContinueLoop is the row of "continue_loop".
#pragma once

#define RLDB_INTRINSIC_FAMILY Control
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/control.def"
#include "rldb/ir/intrinsic/constants.inc"
