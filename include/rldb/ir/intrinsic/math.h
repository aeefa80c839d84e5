// The intrinsics in math.def, as constants: intrin::Pow.
#pragma once

#define RLDB_INTRINSIC_FAMILY Math
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/math.def"
#include "rldb/ir/intrinsic/constants.inc"
