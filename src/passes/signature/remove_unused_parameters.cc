// RemoveUnusedParameters: private functions lose their unused parameters; their callers follow.
//
// A parameter stays when it is the only one that binds a symbolic variable which the function still needs, and a
// function keeps all its parameters when it is used other than in calls (its address is taken).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "passes/signature/call_sites.h"

namespace rldb::passes {

using namespace ir;

namespace {

struct Shrunk {
  const Function* made;
  std::vector<bool> kept;
};
using ShrunkFunctions = std::unordered_map<std::string_view, Shrunk>;

std::unordered_set<const Var*> variables_of(const Function* f) {
  std::unordered_set<const Var*> used;
  std::vector<const Var*> in_types;
  walk(f->body, [&](const Node* n) {
    if (const auto* v = as<Var>(n)) used.insert(v);
    if (const auto* e = as<Expr>(n)) collect_vars(e->type, in_types);
    if (const auto* b = as<Binding>(n)) collect_vars(b->var->type, in_types);
    return true;
  });
  collect_vars(f->ret_type, in_types);
  used.insert(in_types.begin(), in_types.end());
  return used;
}

std::vector<bool> kept_parameters(const Function* f) {
  const std::unordered_set<const Var*> used = variables_of(f);
  std::vector<bool> kept;
  std::unordered_set<const Var*> known;
  for (const Var* p : f->params) {
    kept.push_back(used.count(p) > 0);
    if (!kept.back()) continue;
    known.insert(p);
    bound_symbols(p->type, known);
  }
  for (std::size_t i = 0; i < f->params.size(); ++i) {
    if (kept[i]) continue;
    std::unordered_set<const Var*> binds;
    bound_symbols(f->params[i]->type, binds);
    const bool needed =
        std::any_of(binds.begin(), binds.end(), [&](const Var* v) { return used.count(v) && !known.count(v); });
    if (!needed) continue;
    kept[i] = true;
    known.insert(binds.begin(), binds.end());
  }
  return kept;
}

class CallShortener : public Rewriter {
 public:
  CallShortener(Context& ctx, const ShrunkFunctions& shrunk) : Rewriter(ctx), shrunk_(shrunk) {}

 protected:
  const Expr* visit_call(const Call* call) override {
    const auto* g = as<GlobalVar>(call->callee);
    const auto found = g ? shrunk_.find(g->name) : shrunk_.end();
    if (found == shrunk_.end() || found->second.kept.size() != call->args.size()) return Rewriter::visit_call(call);
    std::vector<const Expr*> args;
    for (std::size_t i = 0; i < call->args.size(); ++i)
      if (found->second.kept[i]) args.push_back(rewrite(call->args[i]));
    const Expr* callee = ctx_.global_var(g->name, found->second.made->type);
    const Call* made = ctx_.call_typed(callee, args, call->type, call->attrs, call->ty_args);
    ctx_.set_origin(made, call);
    return made;
  }

 private:
  const ShrunkFunctions& shrunk_;
};

}  // namespace

Result<const Module*> remove_unused_parameters(PassEnv& env, const Module* module, const PassOptions&) {
  Context& ctx = env.ctx;
  const std::unordered_set<std::string_view> escaping = escaping_functions(module);
  ShrunkFunctions shrunk;
  for (const ModuleEntry& e : module->entries) {
    if (!is_internal(e, escaping)) continue;
    const auto* f = as<Function>(e.function);
    std::vector<bool> kept = kept_parameters(f);
    if (std::find(kept.begin(), kept.end(), false) == kept.end()) continue;
    std::vector<const Var*> params;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i]) params.push_back(f->params[i]);
    const Function* made = ctx.function(params, f->body, f->ret_type, f->is_pure, f->attrs);
    ctx.set_origin(made, f);
    shrunk[e.name] = {made, std::move(kept)};
  }
  if (shrunk.empty()) return module;
  ModuleBuilder builder(ctx, *module);
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const auto found = shrunk.find(e.name);
    const Function* callee = found == shrunk.end() ? f : found->second.made;
    const Function* made = CallShortener(ctx, shrunk).rewrite_function(callee);
    if (made != callee) made = remove_dead_bindings(ctx, made);  // what only a removed argument read
    if (made != f) builder.set(e.name, made);
  }
  return builder.build();
}

}  // namespace rldb::passes
