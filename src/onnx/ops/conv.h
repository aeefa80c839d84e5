// Convolutions as the quantised operators use them.
#pragma once

#include "onnx/ops/window.h"

namespace rldb::onnx::bodies {

// With the node's attributes, without a bias.
Made convolution(NodeContext& c, const Expr* data, const Expr* weight);
const Expr* per_channel(Chain& m, const Expr* vector, std::size_t rank);

}  // namespace rldb::onnx::bodies
