// The intrinsics in choice.def, as constants: intrin::IfThenElse.
#pragma once

#define RLDB_INTRINSIC_FAMILY Choice
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/choice.def"
#include "rldb/ir/intrinsic/constants.inc"
