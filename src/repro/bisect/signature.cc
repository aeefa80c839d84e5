// Arguments of one version of a program arranged for another: packed, unpacked, reordered, computed beforehand.
#include "repro/bisect/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "repro/values.h"
#include "rldb/eval/eval.h"

namespace rldb::repro {

using ir::as;
using runtime::Value;
using runtime::ValueKind;

namespace {

struct Leaf {
  std::string name;
  Value value;
};

void leaves_of(const std::string& name, const Value& v, std::vector<Leaf>& out) {
  if (!v.is(ValueKind::Tuple)) {
    out.push_back({name, v});
    return;
  }
  for (const Value& field : v.as_tuple().fields) leaves_of(name, field, out);
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

// Takes leaves in order, as many as the type has.
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

// Parameters in another order, or some of them left out: their names tell.
std::optional<std::vector<Value>> by_names(const ir::Function* f, const std::vector<Leaf>& leaves) {
  std::vector<Value> out;
  for (const ir::Var* p : f->params) {
    const auto it = std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& l) { return l.name == p->name; });
    if (it == leaves.end() || !fits(p->type, it->value)) return std::nullopt;
    out.push_back(it->value);
  }
  return out;
}

constexpr std::string_view kTransform = "_transform_params";

// What the function that computes the lifted parameters gives for the parameters that `to` has no more.
std::optional<std::vector<Leaf>> with_lifted(session::Session& session, const std::vector<Leaf>& leaves,
                                             const ir::Module* module, std::string_view name, const ir::Function* to) {
  const std::string transform(std::string(name) + std::string(kTransform));
  const auto* f = as<ir::Function>(module->find(transform));
  if (!f) return std::nullopt;
  std::size_t wanted = 0;
  for (const ir::Var* p : f->params) wanted += count_leaves(p->type);
  if (wanted > leaves.size()) return std::nullopt;
  const std::size_t kept = leaves.size() - wanted;  // inputs come first, parameters after them
  auto args = pack_all(f, {leaves.begin() + std::ptrdiff_t(kept), leaves.end()});
  if (!args) return std::nullopt;
  eval::Watcher nobody;
  source::Diagnostics ignored;
  const session::RunResult run = session.run_watched(module, transform, copies(*args), nobody, ignored);
  if (!run.ok) return std::nullopt;
  std::vector<Leaf> out(leaves.begin(), leaves.begin() + std::ptrdiff_t(kept));
  std::vector<Value> made;
  flatten(run.value, made);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::size_t at = kept + i;
    out.push_back({at < to->params.size() ? std::string(to->params[at]->name) : std::string(), made[i]});
  }
  return out;
}

}  // namespace

std::optional<std::vector<Value>> adapt_arguments(session::Session& session, const Arguments& from,
                                                  const ir::Module* module, std::string_view name,
                                                  const ir::Function* to, std::string& why) {
  std::vector<Leaf> leaves;
  for (std::size_t i = 0; i < from.values.size(); ++i)
    leaves_of(std::string(from.function->params[i]->name), from.values[i], leaves);
  // A function that lifts the parameters changes what they are, though their number and types may stay.
  if (const auto lifted = with_lifted(session, leaves, module, name, to))
    if (auto out = pack_all(to, *lifted)) return out;
  if (auto out = pack_all(to, leaves)) return out;
  if (to->params.size() >= leaves.size())
    if (auto out = by_names(to, leaves)) return out;
  why = fmt::format("`{}` takes other arguments", name);
  return std::nullopt;
}

}  // namespace rldb::repro
