// The intrinsics in device.def, as constants: intrin::TvmStorageSync.
#pragma once

#define RLDB_INTRINSIC_FAMILY Device
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/device.def"
#include "rldb/ir/intrinsic/constants.inc"
