// Attributes and optional operands left out.
#include "onnx/smaller/graph.h"

namespace rldb::onnx {

namespace {

// The model's graph is the first of the lists.
std::vector<Nodes*> all_lists(pb::ModelProto& model) {
  std::vector<Nodes*> lists{model.mutable_graph()->mutable_node()};
  for (const Body& body : inner_bodies(model)) lists.push_back(body.nodes);
  return lists;
}

bool drop_attribute(pb::NodeProto& node, int attribute) {
  node.mutable_attribute()->DeleteSubrange(attribute, 1);
  return true;
}

bool drop_operand(pb::NodeProto& node, int operand) {
  if (operand + 1 < node.input_size()) {
    node.set_input(operand, "");
    return true;
  }
  node.mutable_input()->RemoveLast();
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty()) node.mutable_input()->RemoveLast();
  return true;
}

}  // namespace

ModelChanges fewer_attributes(const ModelRef& model, const Seen&) {
  ModelChanges changes;
  pb::ModelProto sizes = model->proto;
  const std::vector<Nodes*> lists = all_lists(sizes);
  for (std::size_t l = 0; l < lists.size(); ++l)
    for (int i = 0; i < lists[l]->size(); ++i) {
      const pb::NodeProto& n = lists[l]->Get(i);
      for (int k = n.attribute_size(); k-- > 0;)
        if (!n.attribute(k).has_g())
          changes.push_back(change("a default attribute", model, [l, i, k](Model& m, SmallerModel&) {
            return drop_attribute(*all_lists(m.proto)[l]->Mutable(i), k);
          }));
      for (int k = n.input_size(); k-- > 1;)
        if (!n.input(k).empty())
          changes.push_back(change("an operand fewer", model, [l, i, k](Model& m, SmallerModel&) {
            return drop_operand(*all_lists(m.proto)[l]->Mutable(i), k);
          }));
    }
  return changes;
}

}  // namespace rldb::onnx
