// Rewriter over types and attributes, and substitution.
#include "rldb/ir/walk.h"

namespace rldb::ir {

// Dims go through visit_var only: hooks of expressions are about the program, not about its types.
class DimRewriter final : public Rewriter {
 public:
  DimRewriter(Context& ctx, const std::function<const Expr*(const Var*)>& var) : Rewriter(ctx), var_(var) {}

 private:
  const Expr* visit_var(const Var* v) override { return var_(v); }
  const std::function<const Expr*(const Var*)>& var_;
};

const Expr* Rewriter::type_expr(const Expr* e) {
  if (isa<IntImm>(e)) return e;
  if (const auto* v = as<Var>(e)) return visit_var(v);
  const std::function<const Expr*(const Var*)> var = [this](const Var* v) { return visit_var(v); };
  return DimRewriter(ctx_, var).rewrite(e);
}

bool Rewriter::type_dims(Span<const Expr*> from, std::vector<const Expr*>& to) {
  bool changed = false;
  to.reserve(from.size());
  for (const Expr* e : from) {
    to.push_back(type_expr(e));
    changed = changed || to.back() != e;
  }
  return changed;
}

bool Rewriter::rewrite_types(Span<const Type*> from, std::vector<const Type*>& to) {
  bool changed = false;
  to.reserve(from.size());
  for (const Type* t : from) {
    to.push_back(rewrite_type(t));
    changed = changed || to.back() != t;
  }
  return changed;
}

const Type* Rewriter::rewrite_type(const Type* t) {
  if (t == nullptr || !t->has_vars) return t;
  std::vector<const Expr*> dims;
  std::vector<const Type*> types;
  switch (t->kind) {
    case TypeKind::Any:
    case TypeKind::Prim:
    case TypeKind::Pointer:
      return t;
    case TypeKind::Shape:
      return type_dims(as<ShapeType>(t)->values, dims) ? ctx_.shape_type(dims) : t;
    case TypeKind::Tensor: {
      const auto* s = as<TensorType>(t);
      if (s->shape_var) {
        const Expr* v = type_expr(s->shape_var);
        return v == s->shape_var ? t : ctx_.tensor_of(v, s->ndim, s->dtype, s->vdevice);
      }
      return type_dims(s->shape, dims) ? ctx_.tensor(dims, s->dtype, s->vdevice) : t;
    }
    case TypeKind::DTensor: {
      const auto* s = as<DTensorType>(t);
      const Type* inner = rewrite_type(s->tensor);
      return inner == s->tensor ? t : ctx_.dtensor(as<TensorType>(inner), s->device_mesh, s->placement);
    }
    case TypeKind::Tuple:
      return rewrite_types(as<TupleType>(t)->fields, types) ? ctx_.tuple_type(types) : t;
    case TypeKind::Func: {
      const auto* s = as<FuncType>(t);
      const Type* ret = rewrite_type(s->ret);
      const bool changed = rewrite_types(s->params, types);
      if (!changed && ret == s->ret) return t;
      return s->opaque ? ctx_.opaque_func_type(ret, s->pure, s->derive_func) : ctx_.func_type(types, ret, s->pure);
    }
  }
  return t;
}

const Attr* Rewriter::rewrite_attr(const Attr* a) {
  if (a == nullptr) return nullptr;
  switch (a->kind) {
    case AttrKind::None:
    case AttrKind::Bool:
    case AttrKind::Int:
    case AttrKind::Float:
    case AttrKind::String:
    case AttrKind::DType:
      return a;
    case AttrKind::Type: {
      const Type* t = rewrite_type(a->type);
      return t == a->type ? a : ctx_.attr(t);
    }
    case AttrKind::Expr: {
      const auto* e = static_cast<const Expr*>(a->node);
      const Expr* made = rewrite(e);
      return made == e ? a : ctx_.attr(made);
    }
    case AttrKind::Node: {
      if (const auto* b = as<Buffer>(a->node)) {
        const Buffer* made = visit_buffer(b);
        return made == b ? a : ctx_.attr_node(made);
      }
      return a;
    }
    case AttrKind::List:
    case AttrKind::Dict:
    case AttrKind::Opaque:
      break;
  }
  std::vector<const Attr*> items;
  items.reserve(a->items.size());
  bool changed = false;
  for (const Attr* i : a->items) {
    items.push_back(rewrite_attr(i));
    changed = changed || items.back() != i;
  }
  const Span<NamedAttr> fields = rewrite_attrs(a->fields);
  if (!changed && fields.data() == a->fields.data()) return a;
  if (a->kind == AttrKind::List) return ctx_.attr_list(items, a->is_tuple);
  if (a->kind == AttrKind::Dict) return ctx_.attr_dict(fields);
  return ctx_.attr_opaque(a->string, items, fields);
}

// The same span when nothing changed.
Span<NamedAttr> Rewriter::rewrite_attrs(Span<NamedAttr> attrs) {
  std::vector<NamedAttr> out;
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    const Attr* made = rewrite_attr(attrs[i].value);
    if (made != attrs[i].value && out.empty()) out.assign(attrs.begin(), attrs.end());
    if (!out.empty()) out[i].value = made;
  }
  return out.empty() ? attrs : ctx_.list(out);
}

namespace {

class Substitution final : public Rewriter {
 public:
  Substitution(Context& ctx, const VarMap& map) : Rewriter(ctx), map_(map) {}

 private:
  const Expr* visit_var(const Var* v) override {
    const auto found = map_.find(v);
    return found != map_.end() ? found->second : lookup(v);
  }
  const VarMap& map_;
};

}  // namespace

const Expr* substitute(Context& ctx, const Expr* e, const VarMap& map) {
  return map.empty() ? e : Substitution(ctx, map).rewrite(e);
}
const Stmt* substitute(Context& ctx, const Stmt* s, const VarMap& map) {
  return map.empty() ? s : Substitution(ctx, map).rewrite(s);
}
const Type* substitute(Context& ctx, const Type* t, const VarMap& map) {
  return map.empty() ? t : Substitution(ctx, map).rewrite_type(t);
}

}  // namespace rldb::ir
