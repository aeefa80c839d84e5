// Unification of types: variables with their values, occurs check, dims that meet `?`.
#include "relay/ops/solver.h"

#include <unordered_set>

#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

// The parts of a type, in order.
template <class F>
void for_each_part(const Type* t, F&& f) {
  if (const auto* tuple = as<TupleType>(t)) {
    for (const Type* x : tuple->fields) f(x);
  } else if (const auto* function = as<FunctionType>(t)) {
    for (const Type* x : function->params) f(x);
    f(function->result);
  } else if (const auto* named = as<NamedType>(t)) {
    for (const Type* x : named->args) f(x);
  } else if (const auto* reference = as<ReferenceType>(t)) {
    f(reference->value);
  }
}

}  // namespace

const Type* Solver::head(const Type* t) const {
  for (;;) {
    const auto found = values_.find(t);
    if (found == values_.end()) return t;
    t = found->second;
  }
}

bool Solver::occurs(const Type* hole, const Type* t) {
  std::vector<const Type*> open{t};
  std::unordered_set<const Type*> seen;
  while (!open.empty()) {
    support::poll();
    const Type* x = head(open.back());
    open.pop_back();
    if (x == hole) return true;
    if (seen.insert(x).second) for_each_part(x, [&](const Type* part) { open.push_back(part); });
  }
  return false;
}

const Type* Solver::bind(const Type* hole, const Type* t) {
  if (t->kind != TypeKind::Hole && occurs(hole, t)) return nullptr;
  values_[hole] = t;
  ++progress_;
  return t;
}

const Type* Solver::unify(const Type* a, const Type* b) { return unify(a, b, 0); }

const Type* Solver::unify(const Type* a, const Type* b, int depth) {
  support::poll();
  a = head(a);
  b = head(b);
  if (a == b) return a;
  if (depth > kMaxDepth) return nullptr;
  if (a->kind == TypeKind::Hole) return bind(a, b);
  if (b->kind == TypeKind::Hole) return bind(b, a);
  if (a->kind != b->kind) return nullptr;
  switch (a->kind) {
    case TypeKind::Tensor:
      return unify_tensors(*as<TensorType>(a), *as<TensorType>(b));
    case TypeKind::Tuple: {
      const auto fields = unify_lists(as<TupleType>(a)->fields, as<TupleType>(b)->fields, depth);
      return fields ? ctx_.tuple_type(*fields) : nullptr;
    }
    case TypeKind::Function:
      return unify_functions(as<FunctionType>(a), as<FunctionType>(b), depth);
    case TypeKind::Named: {
      if (as<NamedType>(a)->name != as<NamedType>(b)->name) return nullptr;
      const auto args = unify_lists(as<NamedType>(a)->args, as<NamedType>(b)->args, depth);
      return args ? ctx_.named(as<NamedType>(a)->name, *args) : nullptr;
    }
    case TypeKind::Reference: {
      const Type* value = unify(as<ReferenceType>(a)->value, as<ReferenceType>(b)->value, depth + 1);
      return value ? ctx_.reference(value) : nullptr;
    }
    case TypeKind::Variable:
    case TypeKind::Hole:
      return nullptr;
  }
  return nullptr;
}

const Type* Solver::unify_tensors(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.shape.size() != b.shape.size()) return nullptr;
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    const Dim &x = a.shape[i], &y = b.shape[i];
    if (x == y) {
      dims.push_back(x);
    } else if (x.kind == DimKind::Known && y.kind == DimKind::Known) {
      if (x.value != y.value) return nullptr;
      dims.push_back(x);
    } else if (x.kind == DimKind::Any || y.kind == DimKind::Any) {
      dims.push_back(Dim{});
    } else {
      dims.push_back(x.kind == DimKind::Known ? x : y);  // a symbol takes the value it is compared with
    }
  }
  return ctx_.tensor(dims, a.dtype);
}

std::optional<std::vector<const Type*>> Solver::unify_lists(Span<const Type*> a, Span<const Type*> b, int depth) {
  if (a.size() != b.size()) return std::nullopt;
  std::vector<const Type*> made;
  for (std::size_t i = 0; i < a.size(); ++i) {
    made.push_back(unify(a[i], b[i], depth + 1));
    if (!made.back()) return std::nullopt;
  }
  return made;
}

const Type* Solver::unify_functions(const FunctionType* a, const FunctionType* b, int depth) {
  // The one with more type parameters is instantiated to match the other.
  if (a->type_params.size() != b->type_params.size()) {
    if (!a->type_params.empty()) a = instantiate(a);
    if (!b->type_params.empty()) b = instantiate(b);
  }
  TypeMap map;
  for (std::size_t i = 0; i < a->type_params.size(); ++i) map[b->type_params[i]] = a->type_params[i];
  if (!map.empty())
    b = as<FunctionType>(ctx_.function_type({}, as<TupleType>(substitute(ctx_.tuple_type(b->params), map))->fields,
                                            substitute(b->result, map)));
  const auto params = unify_lists(a->params, b->params, depth);
  const Type* result = params ? unify(a->result, b->result, depth + 1) : nullptr;
  return result ? ctx_.function_type(a->type_params, *params, result) : nullptr;
}

const Type* Solver::rebuilt(const Type* t, const TypeMap* map, TypeMap& done, int depth) {
  t = head(t);
  if (map)
    if (const auto found = map->find(t); found != map->end()) return found->second;
  if (depth > kMaxDepth || t->kind == TypeKind::Tensor || t->kind == TypeKind::Hole || t->kind == TypeKind::Variable)
    return t;
  if (const auto found = done.find(t); found != done.end()) return found->second;
  std::vector<const Type*> parts;
  for_each_part(t, [&](const Type* x) { parts.push_back(rebuilt(x, map, done, depth + 1)); });
  const Type* made = t;
  if (t->kind == TypeKind::Tuple) {
    made = ctx_.tuple_type(parts);
  } else if (const auto* f = as<FunctionType>(t)) {
    const Type* result = parts.back();
    parts.pop_back();
    made = ctx_.function_type(f->type_params, parts, result);
  } else if (const auto* named = as<NamedType>(t)) {
    made = ctx_.named(named->name, parts);
  } else if (t->kind == TypeKind::Reference) {
    made = ctx_.reference(parts.front());
  }
  return done[t] = made;
}

const Type* Solver::resolved(const Type* t) {
  TypeMap done;
  return rebuilt(t, nullptr, done, 0);
}

const Type* Solver::substitute(const Type* t, const TypeMap& map) {
  TypeMap done;
  return rebuilt(t, &map, done, 0);
}

const FunctionType* Solver::instantiate(const FunctionType* f) {
  if (f->type_params.empty()) return f;
  TypeMap map;
  for (const TypeVar* v : f->type_params) map[v] = ctx_.hole();
  const FunctionType* plain = ctx_.function_type({}, f->params, f->result);
  return as<FunctionType>(substitute(plain, map));
}

}  // namespace rldb::relay
