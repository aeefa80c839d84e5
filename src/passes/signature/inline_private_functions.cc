// InlinePrivateFunctions: calls of private Relax functions are replaced by their bodies; functions that are no longer
// called are removed.
//
// A call stays when inlining it would change its meaning: of a function that is directly or indirectly recursive; in a
// dataflow block, of a function that branches or does impure things under relax.force_pure; of a force_pure function in
// one that is not. Conditions that a call checks of its arguments and their types do not prove become a match_cast,
// which also defines the function's symbolic variables.
#include <algorithm>
#include <map>

#include "passes/signature/body_copier.h"
#include "passes/signature/call_sites.h"
#include "rldb/ir/attr_name/relax.h"

namespace rldb::passes {

using namespace ir;

namespace {

using Functions = std::map<std::string_view, const Function*>;

bool branches(const Function* f) {
  return std::any_of(f->body->blocks.begin(), f->body->blocks.end(), [](const BindingBlock* block) {
    return std::any_of(block->bindings.begin(), block->bindings.end(),
                       [](const Binding* b) { return isa<If>(b->value); });
  });
}

class Inliner : public Rewriter {
 public:
  Inliner(Context& ctx, const Functions& functions, const Function* caller)
      : Rewriter(ctx),
        functions_(functions),
        any_purity_(!caller->is_pure || is_set(caller->attrs, attr_name::ForcePure)) {}

 protected:
  // Blocks of the callee go between those of the caller.
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    std::vector<const BindingBlock*> blocks;
    bool changed = false;
    for (const BindingBlock* block : s->blocks) {
      std::vector<const Binding*> run;
      const auto flush = [&] {
        if (run.empty()) return;
        blocks.push_back(ctx_.block(run, block->is_dataflow()));
        ctx_.set_origin(blocks.back(), block);
        run.clear();
      };
      for (const Binding* b : block->bindings) {
        const Function* callee = inlinable(b, block->is_dataflow());
        if (!callee) {
          for (const Binding* made : default_binding(b)) {
            changed = changed || made != b;
            run.push_back(made);
          }
          continue;
        }
        changed = true;
        inline_call(b, callee, block->is_dataflow(), run, blocks, flush);
      }
      flush();
    }
    const Expr* body = rewrite(s->body);
    if (!changed && body == s->body) return s;
    return make_seq(ctx_, blocks, body, s);
  }

 private:
  const Function* inlinable(const Binding* b, bool dataflow) const {
    const auto* call = b->is_match_cast() ? nullptr : as<Call>(b->value);
    const auto* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    const auto found = callee ? functions_.find(callee->name) : functions_.end();
    if (found == functions_.end() || call->args.size() != found->second->params.size()) return nullptr;
    const Function* f = found->second;
    const bool forced = is_set(f->attrs, attr_name::ForcePure);
    if (forced && (dataflow || !any_purity_)) return nullptr;
    return dataflow && branches(f) ? nullptr : f;
  }

  template <class Flush>
  void inline_call(const Binding* b, const Function* callee, bool dataflow, std::vector<const Binding*>& run,
                   std::vector<const BindingBlock*>& blocks, const Flush& flush) {
    std::vector<const Expr*> args;
    for (const Expr* a : as<Call>(b->value)->args) args.push_back(rewrite(a));
    BodyCopier copier(ctx_, dataflow);
    copier.put_arguments(callee, args, run);
    for (const BindingBlock* block : callee->body->blocks) {
      if (dataflow || !block->is_dataflow()) {
        copier.copy_bindings(block, run);
        continue;
      }
      flush();
      std::vector<const Binding*> own;
      copier.copy_bindings(block, own);
      blocks.push_back(ctx_.block(own, true));
      ctx_.set_origin(blocks.back(), block);
    }
    const Expr* result = copier.rewrite(callee->body->body);
    const Var* v = define_var(b->var, b->var->type == b->value->type ? result->type : nullptr);
    const Binding* made = ctx_.binding(v, result);
    ctx_.set_origin(made, b);
    run.push_back(made);
  }

  const Functions& functions_;
  bool any_purity_;  // the caller's purity is not checked
};

// Private functions in an order in which callees come before callers; those on a cycle of calls are left out.
std::vector<std::string_view> callees_first(const Module* module) {
  std::map<std::string_view, std::vector<std::string_view>> calls;
  std::map<std::string_view, int> waits_for;
  std::map<std::string_view, std::vector<std::string_view>> callers;
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function); f && f->is_private()) waits_for[e.name] = 0;
  for (auto& [name, count] : waits_for) {
    std::unordered_set<std::string_view> seen;
    walk(as<Function>(module->find(name))->body, [&, caller = name, wait = &count](const Node* n) {
      const auto* g = as<GlobalVar>(n);
      if (g && waits_for.count(g->name) && seen.insert(g->name).second) {
        ++*wait;
        callers[g->name].push_back(caller);
      }
      return true;
    });
  }
  std::vector<std::string_view> order;
  for (const auto& [name, count] : waits_for)
    if (count == 0) order.push_back(name);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::string_view caller : callers[order[i]])
      if (--waits_for[caller] == 0) order.push_back(caller);
  return order;
}

}  // namespace

Result<const Module*> inline_private_functions(PassEnv& env, const Module* module, const NoOptions&) {
  Functions functions;
  ModuleBuilder builder(env.ctx, *module);
  bool changed = false;
  const auto inlined = [&](std::string_view name, const Function* f) {
    const Function* made = Inliner(env.ctx, functions, f).rewrite_function(f);
    if (made == f) return f;
    made = refine_result(env.ctx, canonicalize(env.ctx, made));
    builder.set(name, made);
    changed = true;
    return made;
  };
  std::unordered_set<std::string_view> done;
  for (const std::string_view name : callees_first(module)) {
    functions[name] = inlined(name, as<Function>(module->find(name)));
    done.insert(name);
  }
  for (const ModuleEntry& e : module->entries)
    if (const auto* f = as<Function>(e.function); f && !done.count(e.name)) inlined(e.name, f);
  // Removes those that are no longer called or named.
  const Module* made = builder.build();
  std::unordered_set<std::string_view> used;
  for (const ModuleEntry& e : made->entries)
    walk(e.function, [&](const Node* n) {
      if (const auto* g = as<GlobalVar>(n)) used.insert(g->name);
      return true;
    });
  ModuleBuilder kept(env.ctx, *made);
  for (const auto& [name, f] : functions) {
    if (used.count(name)) continue;
    kept.remove(name);
    changed = true;
  }
  return changed ? kept.build() : module;
}

}  // namespace rldb::passes
