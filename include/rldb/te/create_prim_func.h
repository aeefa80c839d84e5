// create_prim_func: from a Graph of tensors to one schedulable TensorIR function, as TVM's pass of that name writes it.
//
// Each compute and reduction becomes a loop nest around one block (axes, reads, writes, init), stages in order of use
// (inputs before users), tensors that are not parameters are allocated in the root block. Parameters come in the given
// order: tensors as buffers, variables as scalars. The function carries `tirx.noalias` and is private.
#pragma once

#include "rldb/te/tensor.h"

namespace rldb::te {

// A parameter: a tensor (placeholder or output) or a scalar variable.
struct Param {
  Tensor tensor = nullptr;
  const ir::Var* var = nullptr;
};

const ir::PrimFunc* create_prim_func(ir::Context& ctx, std::span<const Param> params);

}  // namespace rldb::te
