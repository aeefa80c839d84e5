// Nodes that change a tensor in place (`relu_`). Relax's tensors never change: later users of the changed tensor get
// the node's result. That is right unless another name shares the memory (a view) and is used after the change, or the
// memory is that of an input, parameter or buffer; such programs are refused. Inside the room only.
#pragma once

#include "onnx/model.h"

namespace rldb::onnx {

// `relu_.default`; not `__and__.Tensor`, and not a view such as `detach_.default`, which changes no element.
bool changes_in_place(const pb::NodeProto& node);

ir::Result<support::Unit> check_memory_changes(const pb::GraphProto& graph);

}  // namespace rldb::onnx
