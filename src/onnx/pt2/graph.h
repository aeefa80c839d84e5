// Graphs of a program: values with their types, nodes with their arguments, branches. Inside the room only.
#pragma once

#include "onnx/model.h"
#include "onnx/pt2/json.h"

namespace rldb::onnx {

class GraphReader {
 public:
  explicit GraphReader(Model& model) : model_(model) {}

  // Nodes, and the types of all values. Inputs and outputs of the whole program are those of its signature.
  ir::Result<support::Unit> body(const Field& graph, pb::GraphProto& to);
  // `{"as_tensor": {"name": "x"}}`: the name; empty: the argument is no value of the graph.
  static ir::Result<std::string> value_name(const Field& argument);

 private:
  ir::Result<support::Unit> types(const Field& graph, pb::GraphProto& to);
  ir::Result<support::Unit> node(const Field& from, pb::NodeProto& to);
  ir::Result<support::Unit> outputs(const Field& argument, pb::NodeProto& to);
  ir::Result<Argument> argument(const Field& named, pb::NodeProto& to);
  ir::Result<support::Unit> items(const std::string& kind, const Field& value, pb::NodeProto& to, Argument& made);
  ir::Result<Item> item(std::string_view kind, const Field& value, pb::NodeProto& to);
  ir::Result<support::Unit> branch(const Field& value, pb::NodeProto& to, Argument& made);

  Model& model_;
  int depth_ = 0;
};

// The type that the program records of a tensor.
ir::Result<support::Unit> type_of_meta(const Field& meta, pb::TypeProto& to);

}  // namespace rldb::onnx
