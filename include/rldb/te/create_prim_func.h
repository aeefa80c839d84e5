// create_prim_func: a Graph of tensors to one schedulable TensorIR function, as TVM's pass of that name writes it.
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

// Reads and writes of a block whose text gives none: every buffer access below `body` (and `init`), one region a
// buffer, in order of first meeting; loop variables inside the block are relaxed to their ranges. Buffers that the
// block itself allocates are left out. Users: create_prim_func, the front end.
struct Regions {
  std::vector<ir::BufferRegion> reads;
  std::vector<ir::BufferRegion> writes;
};
Regions infer_regions(ir::Context& ctx, std::span<const ir::IterVar> iter_vars, const ir::Stmt* init,
                      const ir::Stmt* body, std::span<const ir::Buffer* const> local_buffers = {});

}  // namespace rldb::te
