// The intrinsics in vector.def, as constants: intrin::Vscale.
#pragma once

#define RLDB_INTRINSIC_FAMILY Vector
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/vector.def"
#include "rldb/ir/intrinsic/constants.inc"
