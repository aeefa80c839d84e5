// Operators on known values (node_context.h). Each returns whether the operands are known; the result is then known
// too. Inside the room only.
#pragma once

#include "onnx/node_context.h"

namespace rldb::onnx::bodies {

bool fold_unary(NodeContext& c);
bool fold_negative(NodeContext& c);  // ceil and floor: by the node's target
bool fold_binary(NodeContext& c);    // arithmetic and comparisons: by the node's target
bool fold_cast(NodeContext& c, DType to);
bool fold_where(NodeContext& c);

}  // namespace rldb::onnx::bodies
