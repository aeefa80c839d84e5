// The program of an archive (torch._export.serde.schema, versions 7 and 8) as a graph of the ONNX frame: a node for
// each call, whose domain is the namespace of its operator (`aten`, `operator` for Python's), parameters and buffers as
// initialisers. Inside the room only.
#pragma once

#include "onnx/model.h"
#include "onnx/pt2/json.h"
#include "onnx/pt2/weights.h"

namespace rldb::onnx {

ir::Result<support::Unit> read_program(const Field& document, Weights& weights, Model& model);

}  // namespace rldb::onnx
