// The intrinsics in bits.def, as constants: intrin::ShiftLeft.
#pragma once

#define RLDB_INTRINSIC_FAMILY Bits
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/bits.def"
#include "rldb/ir/intrinsic/constants.inc"
