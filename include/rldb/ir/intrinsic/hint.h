// The intrinsics in hint.def, as constants: intrin::Likely.
#pragma once

#define RLDB_INTRINSIC_FAMILY Hint
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/hint.def"
#include "rldb/ir/intrinsic/constants.inc"
