// Fewer outputs, earlier outputs, values of a run in place of nodes.
#include <algorithm>
#include <map>

#include "onnx/smaller/graph.h"

namespace rldb::onnx {

using runtime::ValueKind;

namespace {

// Integers that others take as shapes and axes have at most so many elements.
constexpr std::int64_t kMostOfShape = 64;

bool keep_outputs(Model& model, const std::function<bool(int)>& keep) {
  pb::GraphProto& graph = *model.proto.mutable_graph();
  google::protobuf::RepeatedPtrField<pb::ValueInfoProto> kept;
  for (int i = 0; i < graph.output_size(); ++i)
    if (keep(i)) *kept.Add() = graph.output(i);
  if (kept.empty()) return false;
  graph.mutable_output()->Swap(&kept);
  return true;
}

}  // namespace

ModelChanges fewer_outputs(const ModelRef& model, const Seen&) {
  ModelChanges changes;
  const int count = model->proto.graph().output_size();
  for (int i = 0; i < count && count > 1; ++i)
    changes.push_back(change("one output", model,
                             [i](Model& m, SmallerModel&) { return keep_outputs(m, [i](int k) { return k == i; }); }));
  for (int i = 0; i < count && count > 2; ++i)
    changes.push_back(change("one output fewer", model,
                             [i](Model& m, SmallerModel&) { return keep_outputs(m, [i](int k) { return k != i; }); }));
  return changes;
}

ModelRef ending_at(const ModelRef& model, const Seen& seen, const std::string& value) {
  const auto made = copy_of(model);
  auto& outputs = *made->proto.mutable_graph()->mutable_output();
  outputs.Clear();
  if (const auto type = seen.values.find(value); type != seen.values.end())
    set_type(*outputs.Add(), value, type->second);
  else
    outputs.Add()->set_name(value);
  drop_unread(*made, {});
  return made;
}

namespace {

bool may_be_output(const Seen& seen, const std::string& name) {
  return seen.values.contains(name) && (!seen.results || seen.results->contains(name));
}

// The middle first, then the quarters, ...: a fault is found in as many steps as its place has bits.
std::vector<int> middle_first(int count) {
  std::vector<int> order;
  std::vector<bool> there(std::size_t(std::max(count, 0)));
  for (int step = count; step > 0; step = step > 1 ? (step + 1) / 2 : 0) {
    for (int i = step / 2; i < count; i += step)
      if (!there[std::size_t(i)]) order.push_back(i), there[std::size_t(i)] = true;
    if (step == 1) break;
  }
  return order;
}

}  // namespace

ModelChanges earlier_outputs(const ModelRef& model, const Seen& seen) {
  ModelChanges changes;
  const pb::GraphProto& graph = model->proto.graph();
  Names outputs;
  for (const auto& o : graph.output()) outputs.insert(o.name());
  for (const int i : middle_first(graph.node_size())) {
    std::vector<std::string> names;
    for (const std::string& name : graph.node(i).output())
      if (!name.empty() && may_be_output(seen, name)) names.push_back(name);
    const bool is_one = std::any_of(names.begin(), names.end(), [&](const auto& n) { return outputs.contains(n); });
    if (names.empty() || is_one) continue;
    changes.push_back(change("an earlier output", model, [names, &seen](Model& m, SmallerModel&) {
      auto& list = *m.proto.mutable_graph()->mutable_output();
      list.Clear();
      for (const std::string& name : names) set_type(*list.Add(), name, seen.values.at(name));
      return true;
    }));
  }
  return changes;
}

namespace {

bool is_shape_like(const SeenValue& seen) {
  if (!seen.value || seen.dtype.is_float()) return false;
  const runtime::Tensor& t = seen.value->as_tensor();
  return t.ndim() <= 1 && t.element_count() <= kMostOfShape;
}

// The values that the nodes from `begin` to `end` give, and others or the model's outputs read.
bool take_values(Model& model, const Seen& seen, int begin, int end, SmallerModel& made) {
  pb::GraphProto& graph = *model.proto.mutable_graph();
  Names read;
  for (int i = 0; i < graph.node_size(); ++i)
    if (i < begin || i >= end) add_reads(graph.node(i), read);
  Names given;
  for (int i = begin; i < end; ++i) given.insert(graph.node(i).output().begin(), graph.node(i).output().end());
  // An output that would be an input is none.
  if (!keep_outputs(model, [&](int k) { return !given.contains(graph.output(k).name()); })) return false;
  for (int i = begin; i < end; ++i)
    for (const std::string& name : graph.node(i).output()) {
      if (name.empty() || !read.contains(name)) continue;
      const auto value = seen.values.find(name);
      if (value == seen.values.end()) return false;
      if (is_shape_like(value->second)) {
        add_weight(model, name, *value->second.value);
        continue;
      }
      set_type(*graph.add_input(), name, value->second);
      if (value->second.value) made.inputs[name] = *value->second.value;
    }
  graph.mutable_node()->DeleteSubrange(begin, end - begin);
  return true;
}

}  // namespace

ModelChanges values_for_nodes(const ModelRef& model, const Seen& seen, std::size_t length) {
  ModelChanges changes;
  const int count = model->proto.graph().node_size(), step = int(std::min<std::size_t>(length, std::size_t(count)));
  for (int begin = 0; begin < count && step > 0; begin += step) {
    const int end = std::min(count, begin + step);
    changes.push_back(
        change(end - begin == 1 ? "a node's values" : "values for nodes", model,
               [begin, end, &seen](Model& m, SmallerModel& made) { return take_values(m, seen, begin, end, made); }));
  }
  return changes;
}

namespace {

bool same_type(const Seen& seen, const std::string& a, const std::string& b) {
  const auto x = seen.values.find(a), y = seen.values.find(b);
  return x != seen.values.end() && y != seen.values.end() && x->second.dtype == y->second.dtype &&
         x->second.dims == y->second.dims;
}

// The names that outputs of the list's owner have.
bool is_result(const Body& body, const std::string& name) {
  if (body.function)
    return std::find(body.function->output().begin(), body.function->output().end(), name) !=
           body.function->output().end();
  return std::any_of(body.graph->output().begin(), body.graph->output().end(),
                     [&](const auto& o) { return o.name() == name; });
}

// Reads of the node's only result become reads of an operand; the node is nobody's then.
bool read_operand(const Body& body, int node, int operand) {
  const pb::NodeProto n = body.nodes->Get(node);
  if (n.output_size() == 0 || n.input(operand).empty() || is_result(body, n.output(0))) return false;
  rename_reads(*body.nodes, n.output(0), n.input(operand));
  for (int i = 1; i < n.output_size(); ++i)
    if (!n.output(i).empty() && is_result(body, n.output(i))) return false;
  body.nodes->DeleteSubrange(node, 1);
  return true;
}

// The result of the model is then that of the node which gives the operand.
bool read_operand_of_result(Model& model, int node, int operand) {
  pb::GraphProto& graph = *model.proto.mutable_graph();
  const std::string from = graph.node(node).output(0), to = graph.node(node).input(operand);
  const bool from_node = std::any_of(graph.node().begin(), graph.node().end(), [&](const auto& n) {
    return std::find(n.output().begin(), n.output().end(), to) != n.output().end();
  });
  for (const auto& o : graph.output())
    if (!from_node || o.name() == to) return false;
  for (auto& o : *graph.mutable_output())
    if (o.name() == from) o.set_name(to);
  return true;
}

// An input, an initialiser, or what a node gives: a value of the graph around may not be a result.
bool is_given_inside(const Body& body, const std::string& name) {
  const auto named = [&](const auto& x) { return x.name() == name; };
  if (std::any_of(body.nodes->begin(), body.nodes->end(), [&](const auto& n) {
        return std::find(n.output().begin(), n.output().end(), name) != n.output().end();
      }))
    return true;
  if (body.function) {
    const auto& inputs = body.function->input();
    return std::find(inputs.begin(), inputs.end(), name) != inputs.end();
  }
  const pb::GraphProto& graph = *body.graph;
  return std::any_of(graph.input().begin(), graph.input().end(), named) ||
         std::any_of(graph.initializer().begin(), graph.initializer().end(), named);
}

// The same of a node inside that gives a result of its body: the operand is that result then.
bool read_inner_operand(const Body& body, int node, int operand) {
  const pb::NodeProto& n = body.nodes->Get(node);
  if (n.output_size() > 0 && is_result(body, n.output(0))) {
    const std::string from = n.output(0), to = n.input(operand);
    if (to.empty() || is_result(body, to) || !is_given_inside(body, to)) return false;
    if (body.function)
      std::replace(body.function->mutable_output()->begin(), body.function->mutable_output()->end(), from, to);
    else
      for (auto& o : *body.graph->mutable_output())
        if (o.name() == from) o.set_name(to);
  }
  return read_operand(body, node, operand);
}

void add_inner_operands(const ModelRef& model, ModelChanges& changes) {
  pb::ModelProto sizes = model->proto;
  const std::vector<Body> bodies = inner_bodies(sizes);
  for (std::size_t b = 0; b < bodies.size(); ++b)
    for (int i = 0; i < bodies[b].nodes->size(); ++i)
      for (int k = 0; k < bodies[b].nodes->Get(i).input_size(); ++k)
        changes.push_back(change("an inner node's operand", model, [b, i, k](Model& m, SmallerModel&) {
          return read_inner_operand(inner_bodies(m.proto)[b], i, k);
        }));
}

}  // namespace

ModelChanges operands_for_nodes(const ModelRef& model, const Seen& seen) {
  ModelChanges changes;
  const pb::GraphProto& graph = model->proto.graph();
  for (int i = 0; i < graph.node_size(); ++i)
    for (int k = 0; k < graph.node(i).input_size(); ++k) {
      const pb::NodeProto& n = graph.node(i);
      if (n.output_size() == 0 || !same_type(seen, n.output(0), n.input(k))) continue;
      changes.push_back(change("an operand for a node", model, [i, k, &seen](Model& m, SmallerModel&) {
        pb::GraphProto& g = *m.proto.mutable_graph();
        const Body whole{g.mutable_node(), &g, nullptr};
        if (is_result(whole, g.node(i).output(0)) && (seen.results || !read_operand_of_result(m, i, k))) return false;
        return read_operand(whole, i, k);
      }));
    }
  add_inner_operands(model, changes);
  return changes;
}

ModelChanges fewer_constants(const ModelRef& model, const Seen& seen) {
  ModelChanges changes;
  const pb::GraphProto& graph = model->proto.graph();
  const auto tensor_node = [](const pb::NodeProto& n) {
    return n.input_size() == 0 && n.output_size() == 1 && n.attribute_size() == 1 && n.attribute(0).has_t();
  };
  for (int i = 0; i < graph.node_size(); ++i)
    if (tensor_node(graph.node(i)))
      changes.push_back(change("an initialiser for a node", model, [i, &seen](Model& m, SmallerModel&) {
        pb::GraphProto& g = *m.proto.mutable_graph();
        const auto value = seen.values.find(g.node(i).output(0));
        const bool is_output = is_result({g.mutable_node(), &g, nullptr}, g.node(i).output(0));
        if (is_output || value == seen.values.end() || !value->second.value) return false;
        add_weight(m, g.node(i).output(0), *value->second.value);
        g.mutable_node()->DeleteSubrange(i, 1);
        return true;
      }));
  for (int i = 0; i < graph.initializer_size(); ++i)
    changes.push_back(change("an input for an initialiser", model, [i](Model& m, SmallerModel& made) {
      pb::GraphProto& g = *m.proto.mutable_graph();
      const std::string name = g.initializer(i).name();
      const auto weight = m.weights.find(name);
      if (weight == m.weights.end() || !weight->second.as_tensor().dtype().is_float()) return false;
      const runtime::Tensor& t = weight->second.as_tensor();
      SeenValue type{t.dtype(), {}, {}};
      for (const std::int64_t d : t.shape()) type.dims.push_back(std::to_string(d));
      set_type(*g.add_input(), name, type);
      made.inputs[name] = weight->second;
      g.mutable_initializer()->DeleteSubrange(i, 1);
      m.weights.erase(weight);
      return true;
    }));
  return changes;
}

}  // namespace rldb::onnx
