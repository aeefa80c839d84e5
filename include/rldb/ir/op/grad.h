// Names of the operators of grad.def: op::GradNoGrad is "relax.grad.no_grad", short_op::GradNoGrad is "grad.no_grad".
#pragma once

#define RLDB_OP_ROWS "rldb/ir/op/grad.def"
#include "rldb/ir/op/names.inc"
