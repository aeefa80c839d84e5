// BodyCopier: bindings copied with fresh variables and symbolic variables.
#include "passes/signature/body_copier.h"

#include <utility>

#include "rldb/ir/type_relation.h"

namespace rldb::passes {

using namespace ir;

void BodyCopier::put_arguments(const Function* f, Span<const Expr*> args, std::vector<const Binding*>& out) {
  for (std::size_t i = 0; i < f->params.size(); ++i) learn(f->params[i]->type, args[i]);
  for (std::size_t i = 0; i < f->params.size(); ++i) {
    const Var* p = f->params[i];
    if (p->type->kind == TypeKind::Prim || is_base_of(ctx_, rewrite_type(p->type), args[i]->type)) {
      remap(p, args[i]);
      continue;
    }
    renew_symbols(p->type);
    const Type* wanted = rewrite_type(p->type);
    const Var* v = variable(p, wanted, dataflow_);
    out.push_back(ctx_.match_cast(v, args[i], wanted));
    ctx_.set_origin(out.back(), p);
    remap(p, v);
  }
}

void BodyCopier::copy_bindings(const BindingBlock* block, std::vector<const Binding*>& out) {
  for (const Binding* b : block->bindings)
    for (const Binding* made : visit_binding(b)) out.push_back(made);
}

const Function* BodyCopier::copy_function(const Function* f, Span<NamedAttr> attrs) {
  const bool outer = std::exchange(dataflow_, false);
  for (const Var* p : f->params) renew_symbols(p->type);
  std::vector<const Var*> params;
  for (const Var* p : f->params) {
    params.push_back(variable(p, rewrite_type(p->type), false));
    remap(p, params.back());
  }
  const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
  const Function* made = ctx_.function(params, body, rewrite_type(f->ret_type), f->is_pure, rewrite_attrs(attrs));
  ctx_.set_origin(made, f);
  dataflow_ = outer;
  return made;
}

std::vector<const Binding*> BodyCopier::visit_binding(const Binding* b) {
  const Expr* value = rewrite(b->value);
  if (b->is_match_cast()) renew_symbols(b->cast_type);
  const bool follows = !b->is_match_cast() && b->var->type == b->value->type;
  const Type* type = follows ? value->type : rewrite_type(b->var->type);
  const Var* v = variable(b->var, type, dataflow_ || b->var->is_dataflow());
  remap(b->var, v);
  const Binding* made =
      b->is_match_cast() ? ctx_.match_cast(v, value, rewrite_type(b->cast_type)) : ctx_.binding(v, value);
  ctx_.set_origin(made, b);
  return {made};
}

// A local function gets its own variables too. Its name is visible inside it.
const Expr* BodyCopier::visit_expr(const Expr* e) {
  const auto* f = as<Function>(e);
  return f ? copy_function(f, f->attrs) : Rewriter::visit_expr(e);
}

const Var* BodyCopier::variable(const Var* from, const Type* type, bool dataflow) {
  const Var* v = dataflow ? ctx_.dataflow_var(from->name, type) : ctx_.var(from->name, type);
  ctx_.set_origin(v, from);
  return v;
}

// Symbolic variables that are a whole dim or scalar take the value at that place in the argument's type.
void BodyCopier::learn(const Type* param, const Expr* arg) {
  if (const auto* t = as<TensorType>(param)) {
    const auto* given = as<TensorType>(arg->type);
    if (given && given->has_shape) learn_dims(t->shape, given->shape);
  } else if (const auto* s = as<ShapeType>(param)) {
    const auto* given = as<ShapeType>(arg->type);
    if (given && given->has_values) learn_dims(s->values, given->values);
  } else if (const auto* tuple = as<TupleType>(param)) {
    const auto* given = as<Tuple>(arg);
    for (std::size_t i = 0; given && i < tuple->fields.size() && i < given->items.size(); ++i)
      learn(tuple->fields[i], given->items[i]);
  }
}

void BodyCopier::learn_dims(Span<const Expr*> dims, Span<const Expr*> given) {
  for (std::size_t i = 0; i < dims.size() && i < given.size(); ++i)
    if (const auto* v = as<Var>(dims[i]); v && lookup(v) == v) remap(v, given[i]);
}

void BodyCopier::renew_symbols(const Type* t) {
  std::vector<const Var*> found;
  collect_vars(t, found);
  for (const Var* v : found) {
    if (v->type->kind != TypeKind::Prim || lookup(v) != v || own_.count(v)) continue;
    const Var* made = variable(v, v->type, false);
    own_.insert(made);
    remap(v, made);
  }
}

}  // namespace rldb::passes
