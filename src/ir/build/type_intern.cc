// Types of a Context. One structural hash and one comparison over all kinds; an existing type is never made twice.
#include "ir/build/context_tables.h"

namespace rldb::ir {

namespace {

std::uint64_t pointer_bits(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// Nested types and names are already interned: pointers represent them.
struct Hasher {
  std::uint64_t h;
  void add(std::uint64_t v) { h = mix(h, v); }
  void add(DType t) { add(dtype_bits(t)); }
  void add(std::string_view s) {
    add(s.size());
    add(pointer_bits(s.data()));
  }
  void add(Span<const Expr*> dims) {
    add(dims.size());
    for (const Expr* e : dims) add(expr_hash(e));
  }
  void add(Span<const Type*> types) {
    add(types.size());
    for (const Type* t : types) add(pointer_bits(t));
  }
};

std::uint64_t type_hash(const Type* t) {
  Hasher h{std::uint64_t(t->kind) + 1};
  switch (t->kind) {
    case TypeKind::Any:
      break;
    case TypeKind::Prim:
      h.add(as<PrimType>(t)->dtype);
      break;
    case TypeKind::Shape: {
      const auto* s = as<ShapeType>(t);
      h.add(std::uint64_t(s->ndim) * 2 + (s->has_values ? 1 : 0));
      h.add(s->values);
      break;
    }
    case TypeKind::Tensor: {
      const auto* s = as<TensorType>(t);
      h.add(s->dtype);
      h.add(std::uint64_t(s->ndim) * 2 + (s->has_shape ? 1 : 0));
      h.add(s->shape);
      h.add(pointer_bits(s->shape_var));
      h.add(pointer_bits(s->vdevice));
      break;
    }
    case TypeKind::DTensor: {
      const auto* s = as<DTensorType>(t);
      h.add(pointer_bits(s->tensor));
      h.add(s->placement);
      break;
    }
    case TypeKind::Tuple:
      h.add(as<TupleType>(t)->fields);
      break;
    case TypeKind::Func: {
      const auto* s = as<FuncType>(t);
      h.add(s->params);
      h.add(pointer_bits(s->ret));
      h.add(std::uint64_t(s->pure) * 2 + std::uint64_t(s->opaque));
      h.add(s->derive_func);
      break;
    }
    case TypeKind::Pointer: {
      const auto* s = as<PointerType>(t);
      h.add(s->element);
      h.add(s->scope);
      break;
    }
  }
  return h.h;
}

bool same_dims(Span<const Expr*> a, Span<const Expr*> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!expr_equal(a[i], b[i])) return false;
  return true;
}

bool same_types(Span<const Type*> a, Span<const Type*> b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool same_attr(const Attr* a, const Attr* b) { return a == b || (a && b && attr_equal(a, b)); }

bool type_equal(const Type* x, const Type* y) {
  if (x->kind != y->kind) return false;
  switch (x->kind) {
    case TypeKind::Any:
      return true;
    case TypeKind::Prim:
      return as<PrimType>(x)->dtype == as<PrimType>(y)->dtype;
    case TypeKind::Shape: {
      const auto *a = as<ShapeType>(x), *b = as<ShapeType>(y);
      return a->ndim == b->ndim && a->has_values == b->has_values && same_dims(a->values, b->values);
    }
    case TypeKind::Tensor: {
      const auto *a = as<TensorType>(x), *b = as<TensorType>(y);
      return a->dtype == b->dtype && a->ndim == b->ndim && a->has_shape == b->has_shape &&
             a->shape_var == b->shape_var && a->vdevice == b->vdevice && same_dims(a->shape, b->shape);
    }
    case TypeKind::DTensor: {
      const auto *a = as<DTensorType>(x), *b = as<DTensorType>(y);
      return a->tensor == b->tensor && a->placement == b->placement && same_attr(a->device_mesh, b->device_mesh);
    }
    case TypeKind::Tuple:
      return same_types(as<TupleType>(x)->fields, as<TupleType>(y)->fields);
    case TypeKind::Func: {
      const auto *a = as<FuncType>(x), *b = as<FuncType>(y);
      return a->opaque == b->opaque && a->pure == b->pure && a->ret == b->ret && a->derive_func == b->derive_func &&
             same_types(a->params, b->params);
    }
    case TypeKind::Pointer: {
      const auto *a = as<PointerType>(x), *b = as<PointerType>(y);
      return a->element == b->element && a->scope == b->scope;
    }
  }
  return false;
}

bool has_vars(std::span<const Expr* const> dims) {
  return std::any_of(dims.begin(), dims.end(), [](const Expr* e) { return !isa<IntImm>(e); });
}
bool has_vars(std::span<const Type* const> types) {
  return std::any_of(types.begin(), types.end(), [](const Type* t) { return t->has_vars; });
}

}  // namespace

// Looks up before copying: `candidate` may point into memory of the caller.
template <class T>
const T* Context::intern_type(T candidate) {
  const std::uint64_t hash = type_hash(&candidate);
  if (const Type* found = tables_->types.find(hash, [&](const Type* t) { return type_equal(t, &candidate); }))
    return static_cast<const T*>(found);
  candidate.id = next_type_id_++;
  if constexpr (std::is_same_v<T, ShapeType>) candidate.values = list(candidate.values);
  if constexpr (std::is_same_v<T, TensorType>) candidate.shape = list(candidate.shape);
  if constexpr (std::is_same_v<T, TupleType>) candidate.fields = list(candidate.fields);
  if constexpr (std::is_same_v<T, FuncType>) candidate.params = list(candidate.params);
  const T* made = arena_.make<T>(candidate);
  tables_->types.insert(hash, made);
  return made;
}

// Literal dims are int64 whatever dtype they were written in, so that (4,) is one type.
std::span<const Expr* const> Context::dims(std::span<const Expr* const> values) {
  bool narrow = false;
  for (const Expr* e : values) {
    RLDB_CHECK(e != nullptr, "a dim is missing");
    narrow = narrow || (isa<IntImm>(e) && e->dtype() != DType::Int(64));
  }
  if (!narrow) return values;
  std::vector<const Expr*> out(values.begin(), values.end());
  for (const Expr*& e : out)
    if (const auto* i = as<IntImm>(e)) e = i64(i->value);
  return list(out);
}

const PrimType* Context::prim(DType dtype) {
  const PrimType*& slot = tables_->prims[dtype_bits(dtype)];
  if (!slot) slot = arena_.make<PrimType>(Type{TypeKind::Prim, next_type_id_++}, dtype);
  return slot;
}

const ShapeType* Context::shape_type(std::span<const Expr* const> values) {
  values = dims(values);
  return intern_type(ShapeType{{TypeKind::Shape, 0, has_vars(values)}, int(values.size()), true, values});
}
const ShapeType* Context::shape_type_ndim(int ndim) {
  if (ndim == 0) return shape_type({});  // all dims are known: there are none
  return intern_type(ShapeType{{TypeKind::Shape, 0}, ndim < 0 ? kUnknownNdim : ndim, false, {}});
}

const TensorType* Context::tensor(std::span<const Expr* const> shape, DType dtype, const VDevice* device) {
  shape = dims(shape);
  return intern_type(
      TensorType{{TypeKind::Tensor, 0, has_vars(shape)}, dtype, int(shape.size()), true, shape, nullptr, device});
}
const TensorType* Context::tensor_ndim(int ndim, DType dtype, const VDevice* device) {
  return intern_type(
      TensorType{{TypeKind::Tensor, 0}, dtype, ndim < 0 ? kUnknownNdim : ndim, false, {}, nullptr, device});
}
const TensorType* Context::tensor_of(const Expr* shape_var, int ndim, DType dtype, const VDevice* device) {
  RLDB_CHECK(shape_var != nullptr, "tensor_of needs a variable");
  if (const auto* literal = as<ShapeExpr>(shape_var)) return tensor(literal->values, dtype, device);
  return intern_type(
      TensorType{{TypeKind::Tensor, 0, true}, dtype, ndim < 0 ? kUnknownNdim : ndim, false, {}, shape_var, device});
}
const DTensorType* Context::dtensor(const TensorType* tensor, const Attr* mesh, std::string_view placement) {
  RLDB_CHECK(tensor != nullptr, "dtensor needs a tensor type");
  return intern_type(DTensorType{{TypeKind::DTensor, 0, tensor->has_vars}, tensor, mesh, str(placement)});
}
const TupleType* Context::tuple_type(std::span<const Type* const> fields) {
  return intern_type(TupleType{{TypeKind::Tuple, 0, has_vars(fields)}, fields});
}
const FuncType* Context::func_type(std::span<const Type* const> params, const Type* ret, bool pure) {
  RLDB_CHECK(ret != nullptr, "a function type needs a return type");
  return intern_type(FuncType{{TypeKind::Func, 0, has_vars(params) || ret->has_vars}, false, params, ret, pure, {}});
}
const FuncType* Context::opaque_func_type(const Type* ret, bool pure, std::string_view derive_func) {
  if (!ret) ret = any_;
  return intern_type(FuncType{{TypeKind::Func, 0, ret->has_vars}, true, {}, ret, pure, str(derive_func)});
}
const PointerType* Context::pointer(DType element, std::string_view scope) {
  return intern_type(PointerType{{TypeKind::Pointer, 0}, element, str(scope)});
}

const VDevice* Context::vdevice(VDevice v) {
  v.target_kind = str(v.target_kind);
  v.memory_scope = str(v.memory_scope);
  std::uint64_t hash = mix(std::uint64_t(v.device_id), std::uint64_t(v.global_index));
  hash = mix(mix(hash, pointer_bits(v.target_kind.data())), pointer_bits(v.memory_scope.data()));
  const auto same = [&](const VDevice* o) {
    return o->target_kind == v.target_kind && o->device_id == v.device_id && o->memory_scope == v.memory_scope &&
           o->global_index == v.global_index && same_attr(o->target, v.target);
  };
  if (const VDevice* found = tables_->vdevices.find(hash, same)) return found;
  const VDevice* made = arena_.make<VDevice>(v);
  tables_->vdevices.insert(hash, made);
  return made;
}

}  // namespace rldb::ir
