// The intrinsics of hint.def as constants: intrin::Likely is the row of "likely".
#pragma once

#define RLDB_INTRINSIC_FAMILY Hint
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/hint.def"
#include "rldb/ir/intrinsic/constants.inc"
