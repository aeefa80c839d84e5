// Names of the operators of quantise.def: op::Quantize is "relax.quantize", short_op::Quantize is "quantize".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/quantise.def"
#include "rldb/ir/op/names.inc"
