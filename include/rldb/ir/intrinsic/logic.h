// The intrinsics in logic.def, as constants: intrin::LogicalAnd.
#pragma once

#define RLDB_INTRINSIC_FAMILY Logic
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/logic.def"
#include "rldb/ir/intrinsic/constants.inc"
