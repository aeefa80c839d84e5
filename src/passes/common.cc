// Texts of options, and the builders of calls and bindings shared by passes.
#include "passes/common.h"

#include <algorithm>

#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Uses of functions whose signature changed: calls have the new result, variables that name a function its type.
class Followers : public Rewriter {
 public:
  Followers(Context& ctx, const Module* module) : Rewriter(ctx), module_(module) {}

 protected:
  const Expr* visit_expr(const Expr* e) override {
    const auto* g = as<GlobalVar>(e);
    if (!g) return default_expr(e);
    const auto* f = as<Function>(module_->find(g->name));
    if (!f || f->type == g->type) return g;
    // Callers of a function that takes another number of arguments now (LazyGetInput) are left as they are, as in TVM.
    const auto *before = as<FuncType>(g->type), *now = as<FuncType>(f->type);
    if (before && now && !before->opaque && before->params.size() != now->params.size()) return g;
    return ctx_.global_var(g->name, f->type);
  }
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = default_binding(b);
    if (made.size() != 1 || made[0]->is_match_cast() || !isa<GlobalVar>(made[0]->value) || made[0]->value == b->value)
      return made;
    return {remake_binding(ctx_, made[0], define_var(b->var, made[0]->value->type), made[0]->value)};
  }

 private:
  const Module* module_;
};

const Module* with_followers(Context& ctx, const Module* module) {
  ModuleBuilder builder(ctx, *module);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = Followers(ctx, module).rewrite_function(f);
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace

Result<const Module*> map_functions(PassEnv& env, const Module* module, const FunctionFn& f) {
  ModuleBuilder builder(env.ctx, *module);
  bool changed = false;
  bool other_type = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* function = as<Function>(e.function);
    if (!function) continue;
    support::poll();
    RLDB_TRY(const Function* made, f(e.name, function));
    if (made == function) continue;
    made = refine_result(env.ctx, made);
    builder.set(e.name, made);
    changed = true;
    other_type = other_type || made->type != function->type;
  }
  if (!changed) return module;
  return other_type ? with_followers(env.ctx, builder.build()) : builder.build();
}

const Function* with_body(Context& ctx, const Function* f, const SeqExpr* body) {
  if (body == f->body) return f;
  const Function* made = ctx.function(f->params, body, f->ret_type, f->is_pure, f->attrs);
  ctx.set_origin(made, f);
  return made;
}

std::size_t input_count(const Function* f) {
  const Attr* count = find_attr(f->attrs, attr_name::NumInput);
  if (!count || count->integer < 0) return f->params.size();
  return std::min(std::size_t(count->integer), f->params.size());
}

const Function* with_attr(Context& ctx, const Function* f, std::string_view name, const Attr* value) {
  const Function* made =
      ctx.function(f->params, f->body, f->ret_type, f->is_pure, ctx.with_attr(f->attrs, name, value));
  ctx.set_origin(made, f);
  return made;
}

const Function* refine_result(Context& ctx, const Function* f) {
  return is_base_of(ctx, f->ret_type, f->body->body->type) ? derive_result(ctx, f) : f;
}

bool mentions_function(const Type* t) {
  if (t->kind == TypeKind::Func) return true;
  if (const auto* tuple = as<TupleType>(t))
    for (const Type* f : tuple->fields)
      if (mentions_function(f)) return true;
  return false;
}

const Function* derive_result(Context& ctx, const Function* f) {
  const Type* actual = f->body->body->type;
  const bool says_more = is_base_of(ctx, f->ret_type, actual);
  if (actual == f->ret_type || (!says_more && is_base_of(ctx, actual, f->ret_type))) return f;
  // The type of another function mentions that function's own symbols.
  if (mentions_function(actual) && actual->has_vars) return f;
  std::vector<const Var*> known;
  for (const Var* p : f->params) collect_vars(p->type, known);
  std::vector<const Var*> used;
  collect_vars(actual, used);
  for (const Var* v : used)
    if (std::find(known.begin(), known.end(), v) == known.end()) {
      if (says_more) return f;
      // The annotation cannot be kept: what the body found out at run time is left open.
      actual = erase_unbound(ctx, actual, {f->params.begin(), f->params.end()});
      break;
    }
  const Function* made = ctx.function(f->params, f->body, actual, f->is_pure, f->attrs);
  ctx.set_origin(made, f);
  return made;
}

const Type* erase_unbound(Context& ctx, const Type* t, const std::vector<const Var*>& params) {
  std::unordered_set<const Var*> bound(params.begin(), params.end());
  for (const Var* p : params) bound_symbols(p->type, bound);
  return erase(ctx, t, [&](const Var* v) { return bound.count(v) > 0; });
}

const SeqExpr* make_seq(Context& ctx, const std::vector<const BindingBlock*>& blocks, const Expr* body,
                        const Node* origin) {
  std::vector<const BindingBlock*> filled;
  for (const BindingBlock* b : blocks)
    if (!b->bindings.empty()) filled.push_back(b);
  std::vector<const BindingBlock*> merged;
  for (std::size_t i = 0; i < filled.size();) {
    std::size_t end = i + 1;
    while (end < filled.size() && filled[end]->is_dataflow() == filled[i]->is_dataflow()) ++end;
    if (end == i + 1) {
      merged.push_back(filled[i++]);
      continue;
    }
    std::vector<const Binding*> all;
    for (std::size_t k = i; k < end; ++k) all.insert(all.end(), filled[k]->bindings.begin(), filled[k]->bindings.end());
    merged.push_back(ctx.block(all, filled[i]->is_dataflow()));
    ctx.set_origin(merged.back(), filled[end - 1]);
    i = end;
  }
  const SeqExpr* made = ctx.seq(merged, body);
  if (origin) ctx.set_origin(made, origin);
  return made;
}

const Call* as_call_of(const Expr* e, std::string_view op) {
  const auto* call = as<Call>(e);
  if (!call) return nullptr;
  const auto* callee = as<Op>(call->callee);
  return callee && callee->name == op ? call : nullptr;
}

const Call* op_call(Context& ctx, std::string_view op, std::initializer_list<const Expr*> args, const Type* type,
                    std::initializer_list<const Type*> ty_args) {
  return ctx.call_typed(ctx.op(op), std::span(args.begin(), args.size()), type, {},
                        std::span(ty_args.begin(), ty_args.size()));
}

const Call* packed_call(Context& ctx, std::string_view symbol, std::span<const Expr* const> args, const Type* type,
                        std::initializer_list<const Type*> ty_args) {
  return ctx.call_typed(ctx.extern_func(symbol), args, type, {}, std::span(ty_args.begin(), ty_args.size()));
}

const Call* packed_call(Context& ctx, std::string_view symbol, std::initializer_list<const Expr*> args,
                        const Type* type, std::initializer_list<const Type*> ty_args) {
  return packed_call(ctx, symbol, std::span(args.begin(), args.size()), type, ty_args);
}

const Binding* bind_new(Context& ctx, std::string_view name, const Expr* value, const Node* origin) {
  const Var* var = ctx.var(name, value->type);
  const Binding* b = ctx.binding(var, value);
  if (origin) {
    ctx.set_origin(var, origin);
    if (isa<Call>(value) && value != origin) ctx.set_origin(value, origin);
    ctx.set_origin(b, origin);
  }
  return b;
}

const Binding* remake_binding(Context& ctx, const Binding* b, const Var* var, const Expr* value) {
  if (var == b->var && value == b->value) return b;
  const Binding* made = b->is_match_cast() ? ctx.match_cast(var, value, b->cast_type) : ctx.binding(var, value);
  ctx.set_origin(made, b);
  return made;
}

const Var* killed_by(const Expr* value) {
  if (!op::is_call_with(value, op::Trait::Kills)) return nullptr;
  const Span<const Expr*> args = as<Call>(value)->args;
  return args.empty() ? nullptr : as<Var>(args[0]);
}

std::unordered_set<const Var*> killed_variables(const Function* f) {
  std::unordered_set<const Var*> out;
  walk(f, [&](const Node* n) {
    const auto* call = as<Call>(n);
    if (const Var* v = call ? killed_by(call) : nullptr) out.insert(v);
    return true;
  });
  return out;
}

std::optional<Span<const Expr*>> shape_values(const Expr* shape) {
  if (const auto* s = as<ShapeExpr>(shape)) return s->values;
  const auto* t = as<ShapeType>(shape->type);
  if (t && t->has_values) return t->values;
  return std::nullopt;
}

bool all_int_literals(Span<const Expr*> values) {
  for (const Expr* v : values)
    if (!isa<IntImm>(v)) return false;
  return true;
}

void bound_symbols(const Type* t, std::unordered_set<const Var*>& out) {
  const auto add = [&](Span<const Expr*> dims) {
    for (const Expr* d : dims)
      if (const auto* v = as<Var>(d)) out.insert(v);
  };
  if (const auto* tensor = as<TensorType>(t)) add(tensor->shape);
  if (const auto* shape = as<ShapeType>(t)) add(shape->values);
  if (const auto* tuple = as<TupleType>(t))
    for (const Type* field : tuple->fields) bound_symbols(field, out);
}

std::int64_t device_type_of(std::string_view kind) { return runtime::device_type_of(kind); }

}  // namespace rldb::passes
