// Who reads what, copies without what became useless, and values as parts of a graph.
#include "onnx/smaller/graph.h"

#include <algorithm>

#include "onnx/tensor.h"

namespace rldb::onnx {

std::shared_ptr<Model> copy_of(const ModelRef& model) { return std::make_shared<Model>(*model); }

static void add_graph_reads(const pb::GraphProto& graph, Names& out) {
  for (const auto& node : graph.node()) add_reads(node, out);
  for (const auto& o : graph.output()) out.insert(o.name());
}

void add_reads(const pb::NodeProto& node, Names& out) {
  out.insert(node.input().begin(), node.input().end());
  for (const auto& a : node.attribute()) {
    if (a.has_g()) add_graph_reads(a.g(), out);
    for (const auto& g : a.graphs()) add_graph_reads(g, out);
  }
}

namespace {

bool gives_one_of(const pb::NodeProto& node, const Names& names) {
  return std::any_of(node.output().begin(), node.output().end(),
                     [&](const std::string& name) { return names.contains(name); });
}

const std::string& key_of(const pb::NodeProto& node) {
  static const std::string kNone;
  return node.output_size() > 0 ? node.output(0) : kNone;
}

// Nodes come after what they read, so that one pass backwards finds all. `kept`: read in any case.
Names read_in(const pb::GraphProto& graph, const Names& kept) {
  Names read;
  for (const auto& o : graph.output()) read.insert(o.name());
  for (int i = graph.node_size(); i-- > 0;)
    if (gives_one_of(graph.node(i), read) || kept.contains(key_of(graph.node(i)))) add_reads(graph.node(i), read);
  return read;
}

template <class List, class Keep>
void keep_those(List& list, Keep&& keep) {
  List kept;
  for (auto& item : list)
    if (keep(item)) kept.Add()->Swap(&item);
  list.Swap(&kept);
}

using Calls = std::set<std::pair<std::string, std::string>>;
void add_calls(const Nodes& nodes, Calls& out) {
  for (const auto& n : nodes) {
    out.emplace(domain_name(n.domain()), n.op_type());
    for (const auto& a : n.attribute()) {
      if (a.has_g()) add_calls(a.g().node(), out);
      for (const auto& g : a.graphs()) add_calls(g.node(), out);
    }
  }
}

// Functions that nobody calls, and domains that nobody uses.
void drop_uncalled(pb::ModelProto& model) {
  for (std::size_t before = std::size_t(model.functions_size()) + 1; before != std::size_t(model.functions_size());) {
    before = std::size_t(model.functions_size());
    Calls calls;
    add_calls(model.graph().node(), calls);
    for (const auto& f : model.functions()) add_calls(f.node(), calls);
    keep_those(*model.mutable_functions(), [&](const auto& f) {
      return calls.contains({domain_name(f.domain()), f.name()});
    });
    keep_those(*model.mutable_opset_import(), [&](const auto& import) {
      const std::string domain = domain_name(import.domain());
      return is_default_domain(domain) ||
             std::any_of(calls.begin(), calls.end(), [&](const auto& call) { return call.first == domain; });
    });
  }
}

}  // namespace

Names unread_of(const pb::GraphProto& graph) {
  const Names read = read_in(graph, {});
  Names unread;
  for (const auto& n : graph.node())
    if (!gives_one_of(n, read)) unread.insert(key_of(n));
  for (const auto& t : graph.initializer())
    if (!read.contains(t.name())) unread.insert(t.name());
  for (const auto& i : graph.input())
    if (!read.contains(i.name())) unread.insert(i.name());
  return unread;
}

void drop_unread(Model& model, const Names& unread_before) {
  pb::GraphProto& graph = *model.proto.mutable_graph();
  const Names read = read_in(graph, unread_before);
  const auto named = [&](const auto& item) {
    return read.contains(item.name()) || unread_before.contains(item.name());
  };
  keep_those(*graph.mutable_node(),
             [&](const auto& n) { return gives_one_of(n, read) || unread_before.contains(key_of(n)); });
  keep_those(*graph.mutable_initializer(), named);
  keep_those(*graph.mutable_input(), named);
  std::erase_if(model.weights,
                [&](const auto& w) { return !read.contains(w.first) && !unread_before.contains(w.first); });
  drop_uncalled(model.proto);
}

namespace {

void add_bodies(Nodes& nodes, std::vector<Body>& out) {
  for (auto& node : nodes)
    for (auto& a : *node.mutable_attribute()) {
      const auto add = [&](pb::GraphProto& g) {
        out.push_back({g.mutable_node(), &g, nullptr});
        add_bodies(*g.mutable_node(), out);
      };
      if (a.has_g()) add(*a.mutable_g());
      for (auto& g : *a.mutable_graphs()) add(g);
    }
}

}  // namespace

std::vector<Body> inner_bodies(pb::ModelProto& model) {
  std::vector<Body> bodies;
  add_bodies(*model.mutable_graph()->mutable_node(), bodies);
  for (auto& f : *model.mutable_functions()) {
    bodies.push_back({f.mutable_node(), nullptr, &f});
    add_bodies(*f.mutable_node(), bodies);
  }
  return bodies;
}

void rename_reads(Nodes& nodes, const std::string& from, const std::string& to) {
  for (auto& node : nodes) {
    for (auto& input : *node.mutable_input())
      if (input == from) input = to;
    for (auto& a : *node.mutable_attribute()) {
      const auto rename = [&](pb::GraphProto& g) {
        rename_reads(*g.mutable_node(), from, to);
        for (auto& o : *g.mutable_output())
          if (o.name() == from) o.set_name(to);
      };
      if (a.has_g()) rename(*a.mutable_g());
      for (auto& g : *a.mutable_graphs()) rename(g);
    }
  }
}

void set_type(pb::ValueInfoProto& info, const std::string& name, const SeenValue& value) {
  info.Clear();
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(dtype_number(value.dtype));
  type.mutable_shape();
  for (const std::string& dim : value.dims) {
    auto& d = *type.mutable_shape()->add_dim();
    if (dim.find_first_not_of("0123456789") == std::string::npos && dim.size() < 19)
      d.set_dim_value(std::stoll(dim));
    else
      d.set_dim_param(dim);
  }
}

ModelRef with_output_types(const ModelRef& model, const Seen& seen) {
  const auto made = copy_of(model);
  for (auto& o : *made->proto.mutable_graph()->mutable_output())
    if (const auto value = seen.values.find(o.name()); value != seen.values.end())
      set_type(o, std::string(o.name()), value->second);
  return made;
}

void add_weight(Model& model, const std::string& name, const runtime::Value& value) {
  auto& t = *model.proto.mutable_graph()->add_initializer();
  t.set_name(name);
  t.set_data_type(dtype_number(value.as_tensor().dtype()));
  for (const std::int64_t d : value.as_tensor().shape()) t.add_dims(d);
  model.weights[name] = value;
}

ModelChange change(std::string move, const ModelRef& model, std::function<bool(Model&, SmallerModel&)> edit) {
  return {std::move(move), [model, edit = std::move(edit)]() -> SmallerModel {
            SmallerModel made;
            const auto copy = copy_of(model);
            if (!edit(*copy, made)) return {};
            drop_unread(*copy, unread_of(model->proto.graph()));
            made.model = copy;
            return made;
          }};
}

ModelChanges without_unread(const ModelRef& model, const Seen&) {
  return {{"unread nodes", [model]() -> SmallerModel {
             const auto copy = copy_of(model);
             drop_unread(*copy, {});
             return {copy, {}};
           }}};
}

}  // namespace rldb::onnx
