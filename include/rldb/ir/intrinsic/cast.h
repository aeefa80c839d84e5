// The intrinsics in cast.def, as constants: intrin::Reinterpret.
#pragma once

#define RLDB_INTRINSIC_FAMILY Cast
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/cast.def"
#include "rldb/ir/intrinsic/constants.inc"
