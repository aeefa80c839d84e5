// The tables onnx_op.def and aten/aten_op.def as rows. Inside the room only.
#pragma once

#include "onnx/model.h"
#include "onnx/node_context.h"

namespace rldb::onnx {

// Rows share functions, so that a prototype may be repeated.
namespace bodies {
#define RLDB_ONNX_OP(Name, since, function, Target) Made function(NodeContext& c);
#define RLDB_ONNX_OP_OWN(Name, since, function) Made function(NodeContext& c);
#define RLDB_ONNX_CONTRIB(Name, since, function, Target) Made function(NodeContext& c);
#define RLDB_ONNX_CONTRIB_OWN(Name, since, function) Made function(NodeContext& c);
#include "onnx/onnx_op.def"
}  // namespace bodies

namespace aten {
#define RLDB_ATEN_OP(domain, name, function, Target) Made function(NodeContext& c);
#define RLDB_ATEN_OP_OWN(domain, name, function) Made function(NodeContext& c);
#define RLDB_ATEN_VIEW(domain, name, function) Made function(NodeContext& c);
#define RLDB_ATEN_REFUSED(domain, name, why)
#include "onnx/aten/aten_op.def"
}  // namespace aten

struct OperatorRow {
  std::string_view domain, name;
  std::int64_t since = 1;      // the oldest opset whose definition is translated
  Translate body = nullptr;    // null: refused
  std::string_view target;     // Relax operator (of PyTorch: that of ONNX), or why it is refused
  bool shares_memory = false;  // of PyTorch: the result is a view of the first operand
};
// Null: neither translated nor known by name.
const OperatorRow* operator_row(const std::string& domain, const std::string& name);
std::span<const OperatorRow> operator_rows();

// Why a node cannot be translated; empty: it can. `model`: its functions are translated too.
std::string refusal(const Model& model, const pb::NodeProto& node, std::int64_t opset);

}  // namespace rldb::onnx
