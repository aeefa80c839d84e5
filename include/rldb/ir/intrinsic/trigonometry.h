// The intrinsics in trigonometry.def, as constants: intrin::Atan2.
#pragma once

#define RLDB_INTRINSIC_FAMILY Trigonometry
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/trigonometry.def"
#include "rldb/ir/intrinsic/constants.inc"
