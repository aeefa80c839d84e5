// Types of operators whose inputs are distributed tensors (R.DTensor).
#pragma once

#include <optional>
#include <vector>

#include "ops/infer/util.h"
#include "rldb/ir/placement.h"

namespace rldb::ops {

// Whether an argument is a distributed tensor or a tuple with one, so that infer_distributed types the call.
bool is_distributed(const ir::CallSpec& call);
// The tensor part as for local tensors; the mesh is the inputs'; an axis of the result is sharded along a mesh axis
// when the axes of the inputs that it comes from are. A reduced axis gives a replica.
Result<const Type*> infer_distributed(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call);

// The axis of the result that an axis of an input becomes; kReplica when it is summed over or repeated.
using ir::kReplica;
using AxisMap = std::vector<std::vector<int>>;  // by input, by axis

// A call whose inputs and result have known ranks, by their local types.
struct Sharded {
  ir::Context& ctx;
  const ir::CallSpec& call;
  const std::vector<const TensorType*>& in;  // at least one
  const TensorType* out;
};

}  // namespace rldb::ops
