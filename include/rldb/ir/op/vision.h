// The names of the operators in vision.def, as constants: op::VisionAllClassNonMaxSuppression in full,
// short_op::VisionAllClassNonMaxSuppression as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/vision.def"
#include "rldb/ir/op/names.inc"
