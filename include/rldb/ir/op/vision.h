// Names of the operators of vision.def: op::VisionAllClassNonMaxSuppression is
// "relax.vision.all_class_non_max_suppression", short_op::VisionAllClassNonMaxSuppression is
// "vision.all_class_non_max_suppression".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/vision.def"
#include "rldb/ir/op/names.inc"
