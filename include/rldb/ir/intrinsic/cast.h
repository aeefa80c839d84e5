// The intrinsics of cast.def as constants: intrin::Reinterpret is the row of "reinterpret".
#pragma once

#define RLDB_INTRINSIC_FAMILY Cast
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/cast.def"
#include "rldb/ir/intrinsic/constants.inc"
