// The intrinsics in rounding.def, as constants: intrin::Abs.
#pragma once

#define RLDB_INTRINSIC_FAMILY Rounding
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/rounding.def"
#include "rldb/ir/intrinsic/constants.inc"
