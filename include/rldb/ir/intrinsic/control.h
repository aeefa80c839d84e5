// The intrinsics in control.def, as constants: intrin::ContinueLoop.
#pragma once

#define RLDB_INTRINSIC_FAMILY Control
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/control.def"
#include "rldb/ir/intrinsic/constants.inc"
