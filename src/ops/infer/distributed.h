// Types of operators whose inputs are distributed tensors (R.DTensor).
#pragma once

#include "ops/infer/util.h"

namespace rldb::ops {

// Is an argument a distributed tensor or a tuple with one, so that infer_distributed types the call?
bool is_distributed(const ir::CallSpec& call);
// The tensor part as for local tensors; the mesh is the inputs'; an axis of the result is sharded along a mesh axis
// when the axes of the inputs that it comes from are. What is summed over is a replica.
Result<const Type*> infer_distributed(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call);

}  // namespace rldb::ops
