// The intrinsics of host.def as constants: intrin::TvmCallPacked is the row of "tvm_call_packed".
#pragma once

#define RLDB_INTRINSIC_FAMILY Host
#define RLDB_INTRINSIC_ROWS "rldb/ir/intrinsic/host.def"
#include "rldb/ir/intrinsic/constants.inc"
