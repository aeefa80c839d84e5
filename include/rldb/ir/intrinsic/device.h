// The intrinsics of device.def as constants: intrin::TvmStorageSync is the row of "tvm_storage_sync".
#pragma once

#define RLDB_INTRINSIC_FAMILY Device
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/device.def"
#include "rldb/ir/intrinsic/constants.inc"
