// Bodies in place of the nodes that have them: one branch of a choice, a function of the model.
#include <map>

#include "onnx/smaller/graph.h"

namespace rldb::onnx {

namespace {

using Renames = std::map<std::string, std::string>;

std::string renamed(const Renames& renames, const std::string& name) {
  const auto found = renames.find(name);
  return found == renames.end() ? name : found->second;
}

void rename_all(pb::NodeProto& node, const Renames& renames);
void rename_all(pb::GraphProto& graph, const Renames& renames) {
  for (auto& n : *graph.mutable_node()) rename_all(n, renames);
  for (auto& o : *graph.mutable_output()) o.set_name(renamed(renames, o.name()));
}
void rename_all(pb::NodeProto& node, const Renames& renames) {
  for (auto& name : *node.mutable_input()) name = renamed(renames, name);
  for (auto& name : *node.mutable_output()) name = renamed(renames, name);
  for (auto& a : *node.mutable_attribute()) {
    if (a.has_g()) rename_all(*a.mutable_g(), renames);
    for (auto& g : *a.mutable_graphs()) rename_all(g, renames);
  }
}

// The nodes take the place of one.
void splice(Nodes& nodes, int at, const Nodes& body) {
  Nodes made;
  for (int i = 0; i < nodes.size(); ++i)
    if (i == at)
      made.MergeFrom(body);
    else
      made.Add()->Swap(nodes.Mutable(i));
  nodes.Swap(&made);
}

// A graph without inputs, with as many outputs as its node: a branch.
const pb::GraphProto* branch_of(const pb::NodeProto& node, int attribute) {
  const auto& a = node.attribute(attribute);
  return a.has_g() && a.g().input_size() == 0 && a.g().output_size() == node.output_size() ? &a.g() : nullptr;
}

bool inline_branch(Model& model, int node, int attribute) {
  pb::GraphProto& graph = *model.proto.mutable_graph();
  pb::GraphProto branch = *branch_of(graph.node(node), attribute);
  Renames renames;
  Names given;
  for (const auto& n : branch.node()) given.insert(n.output().begin(), n.output().end());
  for (int i = 0; i < branch.output_size(); ++i) {
    const std::string &inside = branch.output(i).name(), &outside = graph.node(node).output(i);
    // A value from around the branch has its name already.
    if (!given.contains(inside) || !renames.emplace(inside, outside).second) return false;
  }
  rename_all(branch, renames);
  graph.mutable_initializer()->MergeFrom(branch.initializer());
  splice(*graph.mutable_node(), node, branch.node());
  return true;
}

// Attributes that refer to those of the call.
bool take_attributes(Nodes& nodes, const std::map<std::string, const pb::AttributeProto*>& given) {
  for (auto& node : nodes) {
    google::protobuf::RepeatedPtrField<pb::AttributeProto> made;
    for (auto& a : *node.mutable_attribute()) {
      if (a.has_g() && !take_attributes(*a.mutable_g()->mutable_node(), given)) return false;
      if (!a.has_ref_attr_name()) {
        made.Add()->Swap(&a);
        continue;
      }
      const auto found = given.find(a.ref_attr_name());
      if (found == given.end()) continue;  // the operator's default
      pb::AttributeProto value = *found->second;
      value.set_name(a.name());
      made.Add()->Swap(&value);
    }
    node.mutable_attribute()->Swap(&made);
  }
  return true;
}

// The names inside follow the name of the call's first result.
bool inline_function(Model& model, int at) {
  Nodes& nodes = *model.proto.mutable_graph()->mutable_node();
  const pb::NodeProto call = nodes.Get(at);
  const pb::FunctionProto* f = model.function(call.domain(), call.op_type());
  if (!f || call.output_size() == 0) return false;
  Renames renames;
  for (const auto& n : f->node())
    for (const std::string& name : n.output())
      if (!name.empty()) renames[name] = call.output(0) + "/" + name;
  for (int i = 0; i < f->output_size() && i < call.output_size(); ++i) renames[f->output(i)] = call.output(i);
  for (int i = 0; i < f->input_size(); ++i) renames[f->input(i)] = i < call.input_size() ? call.input(i) : "";
  std::map<std::string, const pb::AttributeProto*> attributes;
  for (const auto& a : f->attribute_proto()) attributes[a.name()] = &a;
  for (const auto& a : call.attribute()) attributes[a.name()] = &a;
  Nodes body = f->node();
  if (!take_attributes(body, attributes)) return false;
  for (auto& n : body) {
    rename_all(n, renames);
    if (!n.name().empty() && !call.name().empty()) n.set_name(call.name() + "/" + n.name());
  }
  splice(nodes, at, body);
  return true;
}

}  // namespace

ModelChanges inlined_bodies(const ModelRef& model, const Seen&) {
  ModelChanges changes;
  const pb::GraphProto& graph = model->proto.graph();
  for (int i = 0; i < graph.node_size(); ++i) {
    const pb::NodeProto& n = graph.node(i);
    for (int k = 0; k < n.attribute_size(); ++k)
      if (branch_of(n, k))
        changes.push_back(
            change("one branch", model, [i, k](Model& m, SmallerModel&) { return inline_branch(m, i, k); }));
    if (model->function(n.domain(), n.op_type()))
      changes.push_back(
          change("a function's body", model, [i](Model& m, SmallerModel&) { return inline_function(m, i); }));
  }
  return changes;
}

}  // namespace rldb::onnx
