// Graphs that are being made smaller: who reads what, and copies without what became useless. Inside the room only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "onnx/model.h"
#include "rldb/onnx/smaller.h"

namespace rldb::onnx {

using Names = std::unordered_set<std::string>;
using Nodes = google::protobuf::RepeatedPtrField<pb::NodeProto>;

std::shared_ptr<Model> copy_of(const ModelRef& model);

// The names that a node reads, also in its subgraphs.
void add_reads(const pb::NodeProto& node, Names& out);
// First outputs of nodes, and initialisers and inputs, that nothing reads.
Names unread_of(const pb::GraphProto& graph);
// Drops what is unread, but was not in the model that it was made of: what nobody read before may be what matters.
void drop_unread(Model& model, const Names& unread_before);

// Each list of nodes with its own names: subgraphs from the outside in, then functions; the model's graph is not one.
struct Body {
  Nodes* nodes = nullptr;
  pb::GraphProto* graph = nullptr;  // null: a function
  pb::FunctionProto* function = nullptr;
};
std::vector<Body> inner_bodies(pb::ModelProto& model);

// Reads of one name become reads of another, in subgraphs too.
void rename_reads(Nodes& nodes, const std::string& from, const std::string& to);

// An input or output of this name and type.
void set_type(pb::ValueInfoProto& info, const std::string& name, const SeenValue& value);
// The number of a dtype in the format.
std::int32_t dtype_number(runtime::DType dtype);
// The value as a weight of the model.
void add_weight(Model& model, const std::string& name, const runtime::Value& value);

// A change of a copy; false: it does not apply. Nodes that it makes useless are dropped.
ModelChange change(std::string move, const ModelRef& model, std::function<bool(Model&, SmallerModel&)> edit);

}  // namespace rldb::onnx
