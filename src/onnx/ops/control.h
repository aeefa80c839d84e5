// Choices, shared by the operators of ONNX and PyTorch. Inside the room only.
#pragma once

#include "onnx/node_context.h"

namespace rldb::onnx::bodies {

// The results of one of two graphs, which take the operands: an `if` unless the condition is known.
Made decided(NodeContext& c, const Value& condition, const pb::GraphProto& yes, const pb::GraphProto& no,
             const Values& operands);

}  // namespace rldb::onnx::bodies
