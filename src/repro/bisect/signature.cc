// Adapts arguments of one version of a program to another: packed, unpacked, reordered, computed beforehand.
#include "repro/bisect/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/borrow.h"
#include "repro/values.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/printer.h"

namespace rldb::repro {

using ir::as;
using runtime::Value;
using runtime::ValueKind;

namespace {

struct Leaf {
  std::string name;
  Value value;
};

// Only of tuples by their type: an object may be a tuple inside, as a cache is.
void leaves_of(const std::string& name, const ir::Type* type, const Value& v, std::vector<Leaf>& out) {
  const auto* tuple = as<ir::TupleType>(type);
  if (!tuple || !v.is(ValueKind::Tuple) || v.as_tuple().fields.size() != tuple->fields.size()) {
    out.push_back({name, v});
    return;
  }
  for (std::size_t i = 0; i < tuple->fields.size(); ++i) leaves_of(name, tuple->fields[i], v.as_tuple().fields[i], out);
}

std::size_t count_leaves(const ir::Type* type) {
  const auto* tuple = as<ir::TupleType>(type);
  if (!tuple) return 1;
  std::size_t n = 0;
  for (const ir::Type* f : tuple->fields) n += count_leaves(f);
  return n;
}

bool fits(const ir::Type* type, const Value& v) {
  if (const auto* t = as<ir::TensorType>(type)) {
    if (!v.is(ValueKind::Tensor)) return false;
    const runtime::Tensor& tensor = v.as_tensor();
    if (!t->dtype.is_void() && t->dtype != tensor.dtype()) return false;
    if (t->ndim != ir::kUnknownNdim && t->ndim != tensor.ndim()) return false;
    for (std::size_t i = 0; t->has_shape && i < t->shape.size(); ++i)
      if (const auto* n = as<ir::IntImm>(t->shape[i]); n && n->value != tensor.shape()[i]) return false;
    return true;
  }
  if (as<ir::ShapeType>(type)) return v.is(ValueKind::Shape);
  if (as<ir::PrimType>(type)) return v.is(ValueKind::Int) || v.is(ValueKind::Float) || v.is(ValueKind::Bool);
  return true;
}

// Takes leaves in order, as many as the type contains.
std::optional<Value> pack(const ir::Type* type, const std::vector<Leaf>& leaves, std::size_t& next) {
  if (const auto* tuple = as<ir::TupleType>(type)) {
    std::vector<Value> fields;
    for (const ir::Type* f : tuple->fields) {
      auto field = pack(f, leaves, next);
      if (!field) return std::nullopt;
      fields.push_back(std::move(*field));
    }
    return Value::of_tuple(std::move(fields));
  }
  if (next >= leaves.size() || !fits(type, leaves[next].value)) return std::nullopt;
  return leaves[next++].value;
}

std::optional<std::vector<Value>> pack_all(const ir::Function* f, const std::vector<Leaf>& leaves) {
  std::vector<Value> out;
  std::size_t next = 0;
  for (const ir::Var* p : f->params) {
    auto v = pack(p->type, leaves, next);
    if (!v) return std::nullopt;
    out.push_back(std::move(*v));
  }
  if (next != leaves.size()) return std::nullopt;
  return out;
}

// Parameters in another order, or some of them left out: matched by name. Of several with the same name, the last.
std::optional<std::vector<Value>> by_names(const ir::Function* f, const std::vector<Leaf>& leaves) {
  std::vector<Value> out;
  for (const ir::Var* p : f->params) {
    const auto it = std::find_if(leaves.rbegin(), leaves.rend(), [&](const Leaf& l) { return l.name == p->name; });
    if (it == leaves.rend() || !fits(p->type, it->value)) return std::nullopt;
    out.push_back(it->value);
  }
  return out;
}

constexpr std::string_view kTransform = "transform_params";

// The function that computes the lifted values: of this function alone, or of all of them together.
const ir::Function* transformation(const ir::Module* module, std::string_view name, std::string& found) {
  for (const std::string& candidate : {fmt::format("{}_{}", name, kTransform), std::string(kTransform)})
    if (const auto* f = as<ir::Function>(module->find(candidate))) {
      found = candidate;
      return f;
    }
  return nullptr;
}

// The names of the values that a function returns as a tuple; empty: they have none.
std::vector<std::string> result_names(const ir::Function* f) {
  const ir::Expr* result = f->body->body;
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings)
      if (b->var == result) result = b->value;
  std::vector<std::string> names;
  if (const auto* tuple = as<ir::Tuple>(result))
    for (const ir::Expr* item : tuple->items) {
      const auto* v = as<ir::Var>(item);
      names.push_back(v ? std::string(v->name) : std::string());
    }
  return names;
}

struct Lifted {
  std::vector<Leaf> inputs;  // come first, unchanged
  std::vector<Leaf> made;    // parameters, computed
  bool shared = false;       // for several functions
};

std::optional<Lifted> with_lifted(session::Session& session, const std::vector<Leaf>& leaves, const ir::Module* module,
                                  std::string_view name) {
  std::string transform;
  const ir::Function* f = transformation(module, name, transform);
  if (!f || transform == name) return std::nullopt;
  std::size_t wanted = 0;
  for (const ir::Var* p : f->params) wanted += count_leaves(p->type);
  if (wanted > leaves.size()) return std::nullopt;
  const std::size_t kept = leaves.size() - wanted;  // inputs come first, then parameters
  auto args = pack_all(f, {leaves.begin() + std::ptrdiff_t(kept), leaves.end()});
  if (!args) return std::nullopt;
  eval::Watcher nobody;
  source::Diagnostics ignored;
  const Muted muted(session);
  const session::RunResult run = session.run_watched(module, transform, copies(*args), nobody, ignored);
  if (!run.ok) return std::nullopt;
  Lifted out{{leaves.begin(), leaves.begin() + std::ptrdiff_t(kept)}, {}, transform == kTransform};
  leaves_of({}, f->ret_type, run.value, out.made);
  const std::vector<std::string> names = result_names(f);
  for (std::size_t i = 0; i < out.made.size() && i < names.size(); ++i) out.made[i].name = names[i];
  return out;
}

std::vector<Leaf> joined(const std::vector<Leaf>& a, const std::vector<Leaf>& b) {
  std::vector<Leaf> out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

}  // namespace

std::optional<std::vector<Value>> adapt_arguments(session::Session& session, const Arguments& from,
                                                  const ir::Module* module, std::string_view name,
                                                  const ir::Function* to, std::string& why) {
  std::vector<Leaf> leaves;
  for (std::size_t i = 0; i < from.values.size(); ++i)
    leaves_of(std::string(from.function->params[i]->name), from.function->params[i]->type, from.values[i], leaves);
  // A function that lifts the parameters changes their meaning, though their number and types may stay. Its results go
  // in order to the parameters, whose names may be the fault. If it serves several functions, each takes the ones it
  // needs, by name.
  const bool are_lifted = from.module && lifts_parameters(from.module, name);  // its results were generated
  if (const auto lifted = are_lifted ? std::nullopt : with_lifted(session, leaves, module, name)) {
    auto in_order = pack_all(to, joined(lifted->inputs, lifted->made));
    auto named = by_names(to, joined(leaves, lifted->made));
    auto& first = lifted->shared ? named : in_order;
    auto& second = lifted->shared ? in_order : named;
    if (first) return std::move(first);
    if (second) return std::move(second);
  }
  if (auto out = pack_all(to, leaves)) return out;
  if (auto out = by_names(to, leaves)) return out;
  why = fmt::format("`{}` takes other arguments", name);
  return std::nullopt;
}

std::vector<Value> arguments_for(session::Session& session, const Arguments& from, const ir::Module* module,
                                 std::string_view name) {
  const auto* to = module ? as<ir::Function>(module->find(name)) : nullptr;
  if (!to || !from.function || from.function == to) return from.values;
  std::string ignored;
  auto adapted = adapt_arguments(session, from, module, name, to, ignored);
  return adapted ? std::move(*adapted) : from.values;
}

bool takes_as_many_values(const ir::Function* a, const ir::Function* b) {
  const auto count = [](const ir::Function* f) {
    std::size_t n = 0;
    for (const ir::Var* p : f->params) n += count_leaves(p->type);
    return n;
  };
  return count(a) == count(b);
}

bool lifts_parameters(const ir::Module* module, std::string_view name) {
  std::string transform;
  return transformation(module, name, transform) && transform != name;
}

std::optional<std::vector<Value>> with_outputs(const std::vector<Value>& args, const Value& result,
                                               const ir::Function* to) {
  std::vector<Value> leaves;
  flatten(result, leaves);
  if (to->params.size() != args.size() + leaves.size()) return std::nullopt;
  std::vector<Value> out = args;
  for (const Value& leaf : leaves) {
    const ir::Type* type = to->params[out.size()]->type;
    if (!leaf.is(ValueKind::Tensor) || !as<ir::TensorType>(type) || !fits(type, leaf)) return std::nullopt;
    auto room = runtime::Tensor::empty(leaf.as_tensor().shape(), leaf.as_tensor().dtype());
    if (!room.ok()) return std::nullopt;
    out.push_back(Value(std::move(room).value()));
  }
  return out;
}

std::string call_signature(const ir::Expr* f) {
  const auto* type = ir::as<ir::FuncType>(f->type);
  if (!type) return ir::print_type(f->type);
  std::string text;
  for (const ir::Type* p : type->params) text += ir::print_type(p) + ";";
  return text + ir::print_type(type->ret);
}

}  // namespace rldb::repro
