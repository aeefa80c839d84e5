// Names of the operators of device.def: op::ToVdevice is "relax.to_vdevice", short_op::ToVdevice is "to_vdevice".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/device.def"
#include "rldb/ir/op/names.inc"
