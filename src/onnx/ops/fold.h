// Operators on known values (node_context.h). Each returns whether the operands are known; the result is then known
// too. Inside the room only.
#pragma once

#include "onnx/node_context.h"

namespace rldb::onnx::bodies {

// Values that are computed only with other values stay tensors if they are long: this is for shapes.
inline constexpr std::size_t kMostFolded = 64;

bool fold_unary(NodeContext& c);
bool fold_negative(NodeContext& c);  // ceil and floor: by the node's target
bool fold_binary(NodeContext& c);    // arithmetic and comparisons: by the node's target
bool fold_cast(NodeContext& c, DType to);
bool fold_where(NodeContext& c);
bool fold_reduce(NodeContext& c);  // a vector to one number: by the node's target

// Of integers, with the same elements in another shape or order.
bool fold_reshape(NodeContext& c, const Dims& to);  // to two axes or more; without 0 and -1
bool fold_transpose(NodeContext& c, const Ints& axes);

struct Cut {
  std::size_t axis;
  std::int64_t begin, end, step;  // as a slice of Python has them, within the axis
};
bool fold_slice(NodeContext& c, const std::vector<Cut>& cuts);

}  // namespace rldb::onnx::bodies
