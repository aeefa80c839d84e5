// Types and values of a model that was translated and run, its size, and the form that is made smaller.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/node_context.h"
#include "onnx/smaller/graph.h"
#include "onnx/tensor.h"
#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/support/text.h"

namespace rldb::onnx {

namespace {

std::string dim_text(const Translation& translation, const ir::Expr* dim) {
  if (const auto number = int_of(dim)) return fmt::to_string(*number);
  const auto named = translation.symbols.find(ir::as<ir::Var>(dim));
  return named == translation.symbols.end() ? ir::print_expr(dim) : named->second;
}

std::optional<SeenValue> seen_type(const Translation& translation, const ir::Type* type) {
  const auto* t = ir::as<ir::TensorType>(type);
  if (!t || t->ndim == ir::kUnknownNdim || t->dtype.is_void()) return std::nullopt;
  SeenValue seen;
  seen.dtype = t->dtype;
  for (int i = 0; i < t->ndim; ++i) {
    if (!t->has_shape) return std::nullopt;
    seen.dims.push_back(dim_text(translation, t->shape[std::size_t(i)]));
  }
  return seen;
}

SeenValue seen_number(const runtime::Value& value) {
  SeenValue seen{value.as_tensor().dtype(), {}, value};
  for (const std::int64_t d : value.as_tensor().shape()) seen.dims.push_back(fmt::to_string(d));
  return seen;
}

}  // namespace

std::unordered_map<std::string, SeenValue> seen_values(const Translation& translation, const Tensors& of_run) {
  std::unordered_map<std::string, SeenValue> all;
  const auto add = [&](const std::string& name, const ir::Var* var) {
    auto seen = seen_type(translation, var->type);
    const auto value = of_run.find(name);
    const bool has_value = value != of_run.end() && value->second.is(runtime::ValueKind::Tensor);
    // The dims of a run stand for those that only a run knows.
    if (!seen && has_value) seen = seen_number(value->second);
    if (!seen) return;
    if (has_value) seen->value = value->second;
    all.emplace(name, std::move(*seen));
  };
  for (const auto& [name, var] : translation.values) add(name, var);
  const auto* main = translation.function();
  for (std::size_t i = 0; main && i < translation.inputs.size() && i < main->params.size(); ++i)
    add(translation.inputs[i], main->params[i]);
  for (const auto& [name, value] : translation.known)
    if (value.is(runtime::ValueKind::Tensor)) all.emplace(name, seen_number(value));
  return all;
}

namespace {

void add_sizes(const Nodes& nodes, ModelSize& size) {
  for (const auto& node : nodes) {
    ++size.nodes;
    size.attributes += std::size_t(node.attribute_size());
    for (const std::string& input : node.input()) size.operands += !input.empty();
    for (const auto& a : node.attribute()) {
      if (a.has_g()) add_sizes(a.g().node(), size);
      for (const auto& g : a.graphs()) add_sizes(g.node(), size);
    }
  }
}

}  // namespace

ModelSize size_of(const Model& model) {
  const pb::GraphProto& graph = model.proto.graph();
  ModelSize size;
  add_sizes(graph.node(), size);
  for (const auto& f : model.proto.functions()) add_sizes(f.node(), size);
  for (const auto& t : graph.initializer()) {
    std::size_t count = 1;
    for (const std::int64_t d : t.dims()) count *= std::size_t(std::max<std::int64_t>(d, 0));
    size.constants += count;
  }
  std::set<std::string> symbols;
  for (const auto& input : graph.input())
    for (const auto& d : input.type().tensor_type().shape().dim()) {
      if (d.has_dim_param()) symbols.insert(d.dim_param());
      if (d.has_dim_value()) size.elements += std::size_t(std::max<std::int64_t>(d.dim_value(), 0));
    }
  size.symbols = symbols.size();
  size.outputs = std::size_t(graph.output_size());
  size.inputs = std::size_t(graph.input_size());
  return size;
}

std::string to_string(const ModelSize& size) {
  using support::counted;
  std::string text = counted(size.nodes, "node");
  text += ", " + counted(size.inputs, "input") + ", " + counted(size.outputs, "output");
  return size.constants == 0 ? text : text + ", " + counted(size.constants, "constant");
}

std::size_t hash_of(const Model& model) {
  constexpr std::size_t kMostBytes = 64;  // a list of dims
  std::string bytes = model.proto.SerializeAsString();
  for (const auto& t : model.proto.graph().initializer())
    if (const auto weight = model.weights.find(t.name()); weight != model.weights.end()) {
      const runtime::Tensor& value = weight->second.as_tensor();
      if (value.byte_size() <= kMostBytes) bytes.append(reinterpret_cast<const char*>(value.data()), value.byte_size());
    }
  return std::hash<std::string>()(bytes);
}

namespace {

// Names inside subgraphs hide no weight then.
bool is_read_apart(const pb::TensorProto& t, const Names& inner) {
  return t.data_type() != pb::TensorProto::STRING && !inner.contains(t.name());
}

Names inner_initialisers(pb::ModelProto& model) {
  Names names;
  for (const Body& body : inner_bodies(model))
    if (body.graph)
      for (const auto& t : body.graph->initializer()) names.insert(t.name());
  return names;
}

bool take_weights_apart(Model& model, source::Diagnostics& out) {
  const Names inner = inner_initialisers(model.proto);
  for (auto& t : *model.proto.mutable_graph()->mutable_initializer()) {
    if (!is_read_apart(t, inner) || model.weights.contains(t.name())) continue;
    auto value = tensor_value(t, model.folder);
    if (!value.ok()) {
      out.add({}, std::move(value).error());
      return false;
    }
    pb::TensorProto type;
    type.set_name(t.name());
    type.set_data_type(t.data_type());
    *type.mutable_dims() = t.dims();
    t.Swap(&type);
    model.weights[t.name()] = std::move(value).value();
  }
  return true;
}

// A weight may be an input too, as it was in older models; bound inputs are weights.
void bind_inputs(Model& model, const Tensors& bound) {
  pb::GraphProto& graph = *model.proto.mutable_graph();
  Names weights;
  for (const auto& t : graph.initializer()) weights.insert(t.name());
  google::protobuf::RepeatedPtrField<pb::ValueInfoProto> inputs;
  for (auto& input : *graph.mutable_input()) {
    if (weights.contains(input.name())) continue;
    if (const auto value = bound.find(input.name()); value != bound.end())
      add_weight(model, input.name(), value->second);
    else
      inputs.Add()->Swap(&input);
  }
  graph.mutable_input()->Swap(&inputs);
}

void name_dims(pb::GraphProto& graph) {
  for (auto& input : *graph.mutable_input()) {
    if (!input.type().tensor_type().has_shape()) continue;
    int axis = 0;
    for (auto& d : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      const bool named = d.has_dim_param() && !d.dim_param().empty();
      if (!named && !(d.has_dim_value() && d.dim_value() >= 0))
        d.set_dim_param(fmt::format("{}_{}", input.name(), axis));
      ++axis;
    }
  }
}

}  // namespace

ModelRef to_reduce(const ModelRef& model, const Tensors& bound, source::Diagnostics& out) {
  if (model->is_exported()) {
    out.add({}, source::message(diag::NotOnnx, model->path));
    return nullptr;
  }
  const auto made = copy_of(model);
  if (!take_weights_apart(*made, out)) return nullptr;
  bind_inputs(*made, bound);
  name_dims(*made->proto.mutable_graph());
  made->proto.mutable_graph()->clear_value_info();
  // Before version 4 of the format each initialiser was an input too.
  constexpr std::int64_t kOwnInitialisers = 4;
  if (made->proto.ir_version() < kOwnInitialisers) made->proto.set_ir_version(kOwnInitialisers);
  return made;
}

}  // namespace rldb::onnx
