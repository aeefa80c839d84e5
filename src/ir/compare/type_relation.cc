// Whether one type is a base of another: dims compared with an Analyzer, structure member by member.
#include "rldb/ir/type_relation.h"

#include "ir/compare/describe.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_ir.h"
#include "rldb/support/text.h"

namespace rldb::ir {

using support::Failure;

namespace {

BaseCheck worse(BaseCheck a, BaseCheck b) { return a < b ? a : b; }

bool same_attr(const Attr* a, const Attr* b) { return a == b || (a && b && attr_equal(a, b)); }

// Checks a base against a derived type. With `binds`, variables of the base (a parameter's type) are bound to what is
// in their place in the derived one (an argument's type); types of function parameters bind nothing.
class Relation {
 public:
  explicit Relation(Context& ctx, bool binds = false) : ctx_(ctx), binds_(binds) {}

  BaseCheck check(const Type* base, const Type* derived);
  const VarMap& bound() const { return bound_; }

 private:
  BaseCheck check_shape(const ShapeType* base, const ShapeType* derived);
  BaseCheck check_tensor(const TensorType* base, const TensorType* derived);
  BaseCheck check_device(const VDevice* base, const VDevice* derived);
  BaseCheck check_func(const FuncType* base, const FuncType* derived);
  BaseCheck check_dims(Span<const Expr*> base, Span<const Expr*> derived);
  BaseCheck check_dim(const Expr* base, const Expr* derived);
  BaseCheck check_all(Span<const Type*> base, Span<const Type*> derived);
  bool proves_equal(const Expr* a, const Expr* b);

  Context& ctx_;
  bool binds_;
  VarMap bound_;
};

bool Relation::proves_equal(const Expr* a, const Expr* b) {
  return expr_equal(a, b) || prove_shapes_equal(ctx_, std::span(&a, 1), std::span(&b, 1));
}

BaseCheck Relation::check_dim(const Expr* base, const Expr* derived) {
  if (const auto* v = as<Var>(base); v && binds_) {
    const auto [it, fresh] = bound_.try_emplace(v, derived);
    return fresh || proves_equal(it->second, derived) ? BaseCheck::Pass : BaseCheck::FailL2;
  }
  const auto a = const_int(base), b = const_int(derived);
  if (a && b) return *a == *b ? BaseCheck::Pass : BaseCheck::FailL0;
  return proves_equal(base, derived) ? BaseCheck::Pass : BaseCheck::FailL2;
}

BaseCheck Relation::check_dims(Span<const Expr*> base, Span<const Expr*> derived) {
  if (base.size() != derived.size()) return BaseCheck::FailL0;
  BaseCheck result = BaseCheck::Pass;
  for (std::size_t i = 0; i < base.size() && result != BaseCheck::FailL0; ++i)
    result = worse(result, check_dim(base[i], derived[i]));
  return result;
}

BaseCheck Relation::check_all(Span<const Type*> base, Span<const Type*> derived) {
  if (base.size() != derived.size()) return BaseCheck::FailL0;
  BaseCheck result = BaseCheck::Pass;
  for (std::size_t i = 0; i < base.size() && result != BaseCheck::FailL0; ++i)
    result = worse(result, check(base[i], derived[i]));
  return result;
}

BaseCheck Relation::check_shape(const ShapeType* base, const ShapeType* derived) {
  if (base->ndim == kUnknownNdim) return BaseCheck::Pass;
  if (base->ndim != derived->ndim) return derived->ndim == kUnknownNdim ? BaseCheck::FailL1 : BaseCheck::FailL0;
  if (!base->has_values) return BaseCheck::Pass;
  if (!derived->has_values) return BaseCheck::FailL2;
  return check_dims(base->values, derived->values);
}

BaseCheck Relation::check_device(const VDevice* base, const VDevice* derived) {
  if (!base) return BaseCheck::Pass;
  if (!derived) return BaseCheck::FailL1;
  return same_device(base, derived) ? BaseCheck::Pass : BaseCheck::FailL0;
}

// The dims of a tensor type, either its own or those of the variable that holds its shape.
std::optional<Span<const Expr*>> known_dims(const TensorType* t) {
  if (t->has_shape) return t->shape;
  const auto* s = t->shape_var ? as<ShapeType>(t->shape_var->type) : nullptr;
  if (s && s->has_values) return s->values;
  return std::nullopt;
}

BaseCheck Relation::check_tensor(const TensorType* base, const TensorType* derived) {
  if (!base->dtype.is_void() && base->dtype != derived->dtype)
    return derived->dtype.is_void() ? BaseCheck::FailL1 : BaseCheck::FailL0;
  if (base->ndim != kUnknownNdim && base->ndim != derived->ndim)
    return derived->ndim == kUnknownNdim ? BaseCheck::FailL1 : BaseCheck::FailL0;
  const BaseCheck device = check_device(base->vdevice, derived->vdevice);
  if (device != BaseCheck::Pass) return device;
  if (!base->has_shape && !base->shape_var) return BaseCheck::Pass;
  if (const auto* v = as<Var>(base->shape_var); v && binds_) {
    const Expr* dims = derived->has_shape ? ctx_.shape(derived->shape) : derived->shape_var;
    if (!dims) return BaseCheck::FailL2;
    const auto [it, fresh] = bound_.try_emplace(v, dims);
    if (fresh || it->second == dims) return BaseCheck::Pass;
    const auto *x = as<ShapeExpr>(it->second), *y = as<ShapeExpr>(dims);
    return x && y && prove_shapes_equal(ctx_, x->values, y->values) ? BaseCheck::Pass : BaseCheck::FailL2;
  }
  if (base->shape_var && base->shape_var == derived->shape_var) return BaseCheck::Pass;
  const auto a = known_dims(base), b = known_dims(derived);
  return a && b ? check_dims(*a, *b) : BaseCheck::FailL2;
}

BaseCheck Relation::check_func(const FuncType* base, const FuncType* derived) {
  if (base->pure && !derived->pure) return BaseCheck::FailL0;
  if (base->opaque) {
    if (!base->derive_func.empty())
      return base->derive_func == derived->derive_func ? BaseCheck::Pass : BaseCheck::FailL2;
    return check(base->ret, derived->ret);
  }
  if (derived->opaque) return BaseCheck::FailL2;
  if (base == derived) return BaseCheck::Pass;
  // Equal up to the names of the variables that the two signatures bind.
  if (const Var* x = ctx_.var("x", base), *y = ctx_.var("y", derived);
      base->has_vars && derived->has_vars && structural_equal(x, y, {.map_free_vars = true}))
    return BaseCheck::Pass;
  const bool binds = std::exchange(binds_, false);
  BaseCheck params = check_all(base->params, derived->params);
  // A function's requirement is checked as well as possible: less knowledge is not an error.
  if (params == BaseCheck::FailL1) params = BaseCheck::FailL2;
  binds_ = binds;
  return worse(params, check(base->ret, derived->ret));
}

BaseCheck Relation::check(const Type* base, const Type* derived) {
  // When binding, equal types still have variables to bind.
  if (base == derived && (!binds_ || !base->has_vars)) return BaseCheck::Pass;
  if (base->kind == TypeKind::Any) return BaseCheck::Pass;
  if (derived->kind == TypeKind::Any) return BaseCheck::FailL1;
  if (base->kind != derived->kind) return BaseCheck::FailL0;
  switch (base->kind) {
    case TypeKind::Any:
      return BaseCheck::Pass;
    case TypeKind::Prim:
    case TypeKind::Pointer:
      return BaseCheck::FailL0;  // interned: different pointers are different types
    case TypeKind::Shape:
      return check_shape(as<ShapeType>(base), as<ShapeType>(derived));
    case TypeKind::Tensor:
      return check_tensor(as<TensorType>(base), as<TensorType>(derived));
    case TypeKind::DTensor: {
      const auto *a = as<DTensorType>(base), *b = as<DTensorType>(derived);
      const bool same_place = a->placement == b->placement && same_attr(a->device_mesh, b->device_mesh);
      return worse(check(a->tensor, b->tensor), same_place ? BaseCheck::Pass : BaseCheck::FailL1);
    }
    case TypeKind::Tuple:
      return check_all(as<TupleType>(base)->fields, as<TupleType>(derived)->fields);
    case TypeKind::Func:
      return check_func(as<FuncType>(base), as<FuncType>(derived));
  }
  return BaseCheck::FailL0;
}

// ---- join ----

const Type* join_tensors(Context& ctx, const TensorType* a, const TensorType* b) {
  const DType dtype = a->dtype == b->dtype ? a->dtype : DType::Void();
  const int ndim = a->ndim == b->ndim ? a->ndim : kUnknownNdim;
  const VDevice* device = same_device(a->vdevice, b->vdevice) ? a->vdevice : nullptr;
  if (a->shape_var && a->shape_var == b->shape_var) return ctx.tensor_of(a->shape_var, ndim, dtype, device);
  const auto x = known_dims(a), y = known_dims(b);
  if (ndim != kUnknownNdim && x && y && prove_shapes_equal(ctx, *x, *y)) {
    if (a->shape_var) return ctx.tensor_of(a->shape_var, ndim, dtype, device);
    return ctx.tensor(a->shape, dtype, device);
  }
  return ctx.tensor_ndim(ndim, dtype, device);
}

const Type* join_shapes(Context& ctx, const ShapeType* a, const ShapeType* b) {
  if (a->ndim != b->ndim) return ctx.shape_type_ndim();
  if (a->has_values && b->has_values && prove_shapes_equal(ctx, a->values, b->values)) return a;
  return ctx.shape_type_ndim(a->ndim);
}

std::optional<std::vector<const Type*>> join_all(Context& ctx, Span<const Type*> a, Span<const Type*> b) {
  if (a.size() != b.size()) return std::nullopt;
  std::vector<const Type*> out;
  out.reserve(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back(join(ctx, a[i], b[i]));
  return out;
}

const Type* join_funcs(Context& ctx, const FuncType* a, const FuncType* b) {
  const bool pure = a->pure && b->pure;
  if (a->opaque || b->opaque) {
    if (a->derive_func != b->derive_func) return ctx.opaque_func_type(nullptr, pure);
    return ctx.opaque_func_type(join(ctx, a->ret, b->ret), pure, a->derive_func);
  }
  // Two signatures have a common base only if their parameters agree up to names.
  const Var* x = ctx.var("x", ctx.func_type(a->params, ctx.any(), pure));
  const Var* y = ctx.var("y", ctx.func_type(b->params, ctx.any(), pure));
  if (x->type != y->type && !structural_equal(x, y, {.map_free_vars = true}))
    return ctx.opaque_func_type(join(ctx, static_type(ctx, a->ret), static_type(ctx, b->ret)), pure);
  return ctx.func_type(a->params, join(ctx, a->ret, b->ret), pure);
}

// ---- erasure ----

class Eraser {
 public:
  Eraser(Context& ctx, const std::function<bool(const Var*)>& visible) : ctx_(ctx), visible_(visible) {}

  const Type* erase(const Type* t) {
    if (t == nullptr || !t->has_vars) return t;
    switch (t->kind) {
      case TypeKind::Any:
      case TypeKind::Prim:
      case TypeKind::Pointer:
        return t;
      case TypeKind::Func:
        return in_signature(as<FuncType>(t));
      case TypeKind::Shape: {
        const auto* s = as<ShapeType>(t);
        return all_visible(s->values) ? t : ctx_.shape_type_ndim(s->ndim);
      }
      case TypeKind::Tensor: {
        const auto* s = as<TensorType>(t);
        const bool stays = s->shape_var ? all_visible(std::span(&s->shape_var, 1)) : all_visible(s->shape);
        return stays ? t : ctx_.tensor_ndim(s->ndim, s->dtype, s->vdevice);
      }
      case TypeKind::DTensor: {
        const auto* s = as<DTensorType>(t);
        return ctx_.dtensor(as<TensorType>(erase(s->tensor)), s->device_mesh, s->placement);
      }
      case TypeKind::Tuple: {
        std::vector<const Type*> fields;
        for (const Type* f : as<TupleType>(t)->fields) fields.push_back(erase(f));
        return ctx_.tuple_type(fields);
      }
    }
    return t;
  }

 private:
  // A function's own parameters define the symbols that it mentions; a shape that it mentions is a value outside of it.
  const Type* in_signature(const FuncType* f) {
    const std::function<bool(const Var*)> visible = [this](const Var* v) {
      return v->type->kind == TypeKind::Prim || visible_(v);
    };
    Eraser inner(ctx_, visible);
    std::vector<const Type*> params;
    for (const Type* p : f->params) params.push_back(inner.erase(p));
    const Type* ret = inner.erase(f->ret);
    return f->opaque ? ctx_.opaque_func_type(ret, f->pure, f->derive_func) : ctx_.func_type(params, ret, f->pure);
  }

  bool all_visible(std::span<const Expr* const> dims) {
    found_.clear();
    for (const Expr* e : dims) collect_vars(e, found_);
    return std::all_of(found_.begin(), found_.end(), [this](const Var* v) { return visible_(v); });
  }
  Context& ctx_;
  const std::function<bool(const Var*)>& visible_;
  std::vector<const Var*> found_;
};

// Substitution leaves sums of argument dims; a type keeps their simplest form.
class DimSimplifier {
 public:
  explicit DimSimplifier(Context& ctx) : ctx_(ctx), analyzer_(ctx) {}

  const Type* run(const Type* t) {
    if (!t->has_vars) return t;
    if (const auto* s = as<TensorType>(t); s && s->has_shape) return ctx_.tensor(dims(s->shape), s->dtype, s->vdevice);
    if (const auto* s = as<ShapeType>(t); s && s->has_values) return ctx_.shape_type(dims(s->values));
    if (const auto* s = as<TupleType>(t)) {
      std::vector<const Type*> fields;
      for (const Type* f : s->fields) fields.push_back(run(f));
      return ctx_.tuple_type(fields);
    }
    return t;
  }

 private:
  std::vector<const Expr*> dims(Span<const Expr*> from) {
    std::vector<const Expr*> out;
    for (const Expr* e : from) out.push_back(isa<IntImm>(e) || isa<Var>(e) ? e : analyzer_.simplify(e));
    return out;
  }
  Context& ctx_;
  Analyzer analyzer_;
};

}  // namespace

bool same_device(const VDevice* a, const VDevice* b) {
  return a == b ||
         (a && b && a->target_kind == b->target_kind && a->device_id == b->device_id &&
          a->memory_scope == b->memory_scope && (!a->target || !b->target || same_attr(a->target, b->target)));
}

BaseCheck base_check(Context& ctx, const Type* base, const Type* derived) {
  RLDB_CHECK(base && derived, "base_check of no type");
  return Relation(ctx).check(base, derived);
}

const Type* join(Context& ctx, const Type* a, const Type* b) {
  RLDB_CHECK(a && b, "join of no type");
  if (a == b) return a;
  if (a->kind != b->kind) return ctx.any();
  switch (a->kind) {
    case TypeKind::Any:
    case TypeKind::Prim:
    case TypeKind::Pointer:
      return ctx.any();
    case TypeKind::Shape:
      return join_shapes(ctx, as<ShapeType>(a), as<ShapeType>(b));
    case TypeKind::Tensor:
      return join_tensors(ctx, as<TensorType>(a), as<TensorType>(b));
    case TypeKind::DTensor: {
      const auto *x = as<DTensorType>(a), *y = as<DTensorType>(b);
      if (x->placement != y->placement || !same_attr(x->device_mesh, y->device_mesh)) return ctx.any();
      return ctx.dtensor(as<TensorType>(join_tensors(ctx, x->tensor, y->tensor)), x->device_mesh, x->placement);
    }
    case TypeKind::Tuple: {
      const auto fields = join_all(ctx, as<TupleType>(a)->fields, as<TupleType>(b)->fields);
      if (!fields) return ctx.any();
      return ctx.tuple_type(*fields);
    }
    case TypeKind::Func:
      return join_funcs(ctx, as<FuncType>(a), as<FuncType>(b));
  }
  return ctx.any();
}

const Type* erase(Context& ctx, const Type* t, const std::function<bool(const Var*)>& visible) {
  return Eraser(ctx, visible).erase(t);
}

// A kernel takes an integer of another width, if it fits.
static bool both_integers(const Type* a, const Type* b) {
  const auto *x = as<PrimType>(a), *y = as<PrimType>(b);
  return x && y && x->dtype.is_integral() && y->dtype.is_integral() && !x->dtype.is_bool() && !y->dtype.is_bool();
}

Result<const Type*> call_result(Context& ctx, const FuncType* f, Span<const Expr*> args) {
  RLDB_CHECK(f != nullptr, "call of no function type");
  if (f->opaque) return f->ret;
  if (f->params.size() != args.size())
    return Failure(
        source::message(diag::CallArgumentCount, support::counted(f->params.size(), "argument"), args.size()));
  // A callee that works on its arguments, like kernels in lowered code, checks them itself at run time.
  const auto* nothing = as<TupleType>(f->ret);
  const bool checks_itself = !f->pure && nothing != nullptr && nothing->fields.empty();
  Relation relation(ctx, true);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const BaseCheck result = relation.check(f->params[i], args[i]->type);
    if (checks_itself && both_integers(f->params[i], args[i]->type)) continue;
    // Shapes that cannot be proved are checked at run time.
    if (result == BaseCheck::FailL0 || (result == BaseCheck::FailL1 && !checks_itself)) {
      source::Message m = source::message(diag::CallArgumentType, i, describe(args[i]->type), describe(f->params[i]));
      if (isa<MetaConstant>(args[i])) m.hint = kMetadataMissing;
      return Failure(std::move(m).with_argument(int(i)));
    }
  }
  if (!f->ret->has_vars) return f->ret;
  const VarMap& bound = relation.bound();
  const Type* known = erase(ctx, f->ret, [&](const Var* v) { return bound.count(v) > 0; });
  const Type* result = substitute(ctx, known, bound);
  if (result == known || !result->has_vars) return result;
  return DimSimplifier(ctx).run(result);
}

const Type* static_type(Context& ctx, const Type* t) {
  RLDB_CHECK(t != nullptr, "static_type of no type");
  switch (t->kind) {
    case TypeKind::Any:
    case TypeKind::Prim:
    case TypeKind::Pointer:
      return t;
    case TypeKind::Shape:
      return ctx.shape_type_ndim(as<ShapeType>(t)->ndim);
    case TypeKind::Tensor: {
      const auto* s = as<TensorType>(t);
      return ctx.tensor_ndim(s->ndim, s->dtype, s->vdevice);
    }
    case TypeKind::DTensor: {
      const auto* s = as<DTensorType>(t);
      return ctx.dtensor(as<TensorType>(static_type(ctx, s->tensor)), s->device_mesh, s->placement);
    }
    case TypeKind::Tuple: {
      std::vector<const Type*> fields;
      for (const Type* f : as<TupleType>(t)->fields) fields.push_back(static_type(ctx, f));
      return ctx.tuple_type(fields);
    }
    case TypeKind::Func: {
      const auto* f = as<FuncType>(t);
      const Type* ret = static_type(ctx, f->ret);
      if (f->opaque) return ctx.opaque_func_type(ret, f->pure, f->derive_func);
      std::vector<const Type*> params;
      for (const Type* p : f->params) params.push_back(static_type(ctx, p));
      return ctx.func_type(params, ret, f->pure);
    }
  }
  return t;
}

}  // namespace rldb::ir
