// ExpandTupleArguments: a tuple parameter of a private function becomes one parameter for each leaf, at any depth,
// named `args_0`, `args_1`, ...; all calls follow. Bindings are then canonical in every function, and dead ones
// removed.
#include <algorithm>

#include "passes/signature/call_sites.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Expanded = std::unordered_map<std::string_view, const Function*>;

// The parameters that replace one, and its former value in terms of them.
const Expr* expand(Context& ctx, const Var* p, const Type* t, const std::string& name,
                   std::vector<const Var*>& params) {
  const auto* tuple = as<TupleType>(t);
  if (!tuple) {
    params.push_back(ctx.var(name, t));
    ctx.set_origin(params.back(), p);
    return params.back();
  }
  std::vector<const Expr*> items;
  for (std::size_t i = 0; i < tuple->fields.size(); ++i)
    items.push_back(expand(ctx, p, tuple->fields[i], name + "_" + std::to_string(i), params));
  return ctx.tuple(items);
}

const Function* expanded(Context& ctx, const Function* f) {
  std::vector<const Var*> params;
  std::vector<const Binding*> tuples;
  for (const Var* p : f->params) {
    if (p->type->kind != TypeKind::Tuple) {
      params.push_back(p);
      continue;
    }
    const Binding* b = ctx.binding(p, expand(ctx, p, p->type, std::string(p->name), params));
    ctx.set_origin(b, p);
    tuples.push_back(b);
  }
  if (tuples.empty()) return nullptr;
  std::vector<const BindingBlock*> blocks{ctx.block(tuples)};
  blocks.insert(blocks.end(), f->body->blocks.begin(), f->body->blocks.end());
  const Function* made =
      ctx.function(params, make_seq(ctx, blocks, f->body->body, f->body), f->ret_type, f->is_pure, f->attrs);
  ctx.set_origin(made, f);
  return made;
}

class ArgumentExpander : public CallSiteRewriter {
 public:
  ArgumentExpander(Context& ctx, const Expanded& expanded) : CallSiteRewriter(ctx), expanded_(expanded) {}

 protected:
  std::vector<const Binding*> replace_call(const Binding* b, const Call* call, std::string_view name) override {
    const auto found = expanded_.find(name);
    if (found == expanded_.end()) return {};
    std::vector<const Binding*> out;
    std::vector<const Expr*> args;
    for (const Expr* a : call->args) flatten_argument(ctx_, a, in_dataflow(), args, out);
    const Expr* callee = ctx_.global_var(name, found->second->type);
    const Call* made = ctx_.call_typed(callee, args, call->type, call->attrs, call->ty_args);
    ctx_.set_origin(made, call);
    out.push_back(remake_binding(ctx_, b, b->var, made));
    return out;
  }

 private:
  const Expanded& expanded_;
};

}  // namespace

Result<const Module*> expand_tuple_arguments(PassEnv& env, const Module* module, const NoOptions&) {
  Context& ctx = env.ctx;
  const std::unordered_set<std::string_view> escaping = escaping_functions(module);
  Expanded found;
  for (const ModuleEntry& e : module->entries)
    if (is_internal(e, escaping))
      if (const Function* made = expanded(ctx, as<Function>(e.function))) found[e.name] = made;
  if (found.empty()) return canonical_without_dead_code(env, module);
  ModuleBuilder builder(ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const auto made = found.find(e.name);
    builder.set(e.name, ArgumentExpander(ctx, found).rewrite_function(made == found.end() ? f : made->second));
  }
  return canonical_without_dead_code(env, builder.build());
}

}  // namespace rldb::passes
