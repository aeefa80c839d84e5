// The names of the operators in device.def, as constants: op::ToVdevice in full, short_op::ToVdevice as after R.
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/device.def"
#include "rldb/ir/op/names.inc"
