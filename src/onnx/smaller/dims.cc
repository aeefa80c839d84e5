// Symbolic dims as numbers, and smaller numbers. Values are cut to the new shapes.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "onnx/smaller/graph.h"

namespace rldb::onnx {

namespace {

// The numbers that dims named in inputs were in the run.
std::map<std::string, std::int64_t> symbols_of_run(const Model& model, const Seen& seen) {
  std::map<std::string, std::int64_t> found;
  for (const auto& input : model.proto.graph().input()) {
    const auto value = seen.values.find(input.name());
    if (value == seen.values.end() || !value->second.value) continue;
    const auto& shape = value->second.value->as_tensor().shape();
    const auto& dims = input.type().tensor_type().shape();
    for (int i = 0; i < dims.dim_size() && std::size_t(i) < shape.size(); ++i)
      if (dims.dim(i).has_dim_param()) found.emplace(dims.dim(i).dim_param(), shape[std::size_t(i)]);
  }
  return found;
}

template <class Visit>
void each_dim(pb::GraphProto& graph, Visit&& visit) {
  for (auto& input : *graph.mutable_input())
    if (input.type().tensor_type().has_shape())
      for (auto& d : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) visit(d);
}

}  // namespace

ModelChanges fewer_symbols(const ModelRef& model, const Seen& seen) {
  ModelChanges changes;
  for (const auto& [name, number] : symbols_of_run(*model, seen))
    changes.push_back(change("a number for a symbol", model, [name = name, number = number](Model& m, SmallerModel&) {
      each_dim(*m.proto.mutable_graph(), [&](pb::TensorShapeProto::Dimension& d) {
        if (d.has_dim_param() && d.dim_param() == name) d.set_dim_value(number);
      });
      m.proto.mutable_graph()->clear_value_info();
      for (auto& o : *m.proto.mutable_graph()->mutable_output()) o.clear_type();
      return true;
    }));
  return changes;
}

namespace {

// The first elements along each axis.
runtime::Value first_part(const runtime::Tensor& t, const std::vector<std::int64_t>& shape) {
  auto made = runtime::Tensor::empty(shape, t.dtype());
  if (!made.ok() || (*made)->element_count() == 0) return made.ok() ? runtime::Value(*made) : runtime::Value();
  const std::size_t size = t.dtype().bytes();
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::int64_t i = 0; i < (*made)->element_count(); ++i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) from = from * t.shape()[axis] + at[axis];
    std::memcpy((*made)->data() + std::size_t(i) * size, t.data() + std::size_t(from) * size, size);
    for (std::size_t axis = shape.size(); axis-- > 0 && ++at[axis] == shape[axis];) at[axis] = 0;
  }
  return runtime::Value(*made);
}

struct NewDim {
  std::int64_t from = 0, to = 0;
  bool also_in_attributes = false;
  std::int64_t operator()(std::int64_t d) const { return d == from ? to : d; }
};

bool has_dim(const std::vector<std::int64_t>& shape, std::int64_t d) {
  return std::find(shape.begin(), shape.end(), d) != shape.end();
}

// Null: its dims stay.
std::optional<runtime::Value> cut_value(const runtime::Value& value, const NewDim& by) {
  const runtime::Tensor& t = value.as_tensor();
  if (!has_dim(t.shape(), by.from)) return std::nullopt;
  std::vector<std::int64_t> shape = t.shape();
  for (std::int64_t& d : shape) d = by(d);
  return first_part(t, shape);
}

// A list of integers that others take as a shape.
std::optional<runtime::Value> renumbered(const runtime::Value& value, const NewDim& by) {
  const runtime::Tensor& t = value.as_tensor();
  if (t.dtype() != runtime::DType::Int(64) || t.ndim() != 1 || t.element_count() > 8) return std::nullopt;
  auto made = runtime::Tensor::empty(t.shape(), t.dtype());
  bool any = false;
  for (std::int64_t i = 0; made.ok() && i < t.element_count(); ++i) {
    const std::int64_t n = runtime::load_as_int(t.data() + 8 * i, t.dtype());
    any = any || n == by.from;
    runtime::store_int((*made)->data() + 8 * i, t.dtype(), by(n));
  }
  return any ? std::optional(runtime::Value(*made)) : std::nullopt;
}

void renumber_attributes(Nodes& nodes, const NewDim& by) {
  for (auto& n : nodes)
    for (auto& a : *n.mutable_attribute()) {
      for (std::int64_t& v : *a.mutable_ints()) v = by(v);
      if (a.has_i() && by.from > 4) a.set_i(by(a.i()));  // smaller ones are axes and switches
      if (a.has_g()) renumber_attributes(*a.mutable_g()->mutable_node(), by);
    }
}

bool cut_dims(Model& m, const Seen& seen, const NewDim& by, SmallerModel& made) {
  pb::GraphProto& graph = *m.proto.mutable_graph();
  each_dim(graph, [&](pb::TensorShapeProto::Dimension& d) {
    if (d.has_dim_value()) d.set_dim_value(by(d.dim_value()));
  });
  for (auto& o : *graph.mutable_output()) o.clear_type();
  for (auto& t : *graph.mutable_initializer()) {
    const auto weight = m.weights.find(t.name());
    if (weight == m.weights.end()) continue;
    std::optional<runtime::Value> cut = cut_value(weight->second, by);
    if (!cut && by.also_in_attributes) cut = renumbered(weight->second, by);
    if (!cut) continue;
    if (cut->is(runtime::ValueKind::Null)) return false;
    t.clear_dims();
    for (const std::int64_t d : cut->as_tensor().shape()) t.add_dims(d);
    weight->second = *cut;
  }
  for (const auto& input : graph.input()) {
    const auto value = seen.values.find(input.name());
    if (value == seen.values.end() || !value->second.value) continue;
    if (const auto cut = cut_value(*value->second.value, by)) {
      if (cut->is(runtime::ValueKind::Null)) return false;
      made.inputs[input.name()] = *cut;
    }
  }
  if (by.also_in_attributes) renumber_attributes(*graph.mutable_node(), by);
  return true;
}

std::set<std::int64_t, std::greater<>> numbers_of(const Model& model) {
  std::set<std::int64_t, std::greater<>> numbers;
  for (const auto& input : model.proto.graph().input())
    for (const auto& d : input.type().tensor_type().shape().dim())
      if (d.has_dim_value() && d.dim_value() > 1) numbers.insert(d.dim_value());
  for (const auto& t : model.proto.graph().initializer())
    for (const std::int64_t d : t.dims())
      if (d > 1) numbers.insert(d);
  return numbers;
}

}  // namespace

ModelChanges smaller_dims(const ModelRef& model, const Seen& seen) {
  ModelChanges changes;
  if (seen.results) return changes;  // the values that are expected are of these shapes
  for (const std::int64_t from : numbers_of(*model))
    for (const std::int64_t to : std::set<std::int64_t>{1, 2, 3, 4, from / 2})
      for (const bool also : {false, true})
        if (to > 0 && to < from)
          changes.push_back(change(
              "smaller dims", model,
              [by = NewDim{from, to, also}, &seen](Model& m, SmallerModel& s) { return cut_dims(m, seen, by, s); }));
  return changes;
}

}  // namespace rldb::onnx
