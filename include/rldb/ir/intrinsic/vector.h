// The intrinsics of vector.def as constants: intrin::Vscale is the row of "vscale".
#pragma once

#define RLDB_INTRINSIC_FAMILY Vector
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/vector.def"
#include "rldb/ir/intrinsic/constants.inc"
