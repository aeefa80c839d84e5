// The intrinsics in host.def, as constants: intrin::TvmCallPacked.
#pragma once

#define RLDB_INTRINSIC_FAMILY Host
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/host.def"
#include "rldb/ir/intrinsic/constants.inc"
