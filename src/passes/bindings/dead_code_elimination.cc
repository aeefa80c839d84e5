// DeadCodeElimination: removes unused bindings without an effect, and functions that no entry function reaches.
//
// Entry functions are the public ones and those named by `entry_functions`. A match_cast stays while a symbolic
// variable that it defines is used.
#include <algorithm>
#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass_options.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool has_effect(const SeqExpr* s);

bool has_effect(const Expr* value) {
  if (const auto* call = as<Call>(value)) return !ops::is_pure_call(call);
  if (const auto* branch = as<If>(value)) return has_effect(branch->then_branch) || has_effect(branch->else_branch);
  if (const auto* s = as<SeqExpr>(value)) return has_effect(s);
  return false;
}

bool has_effect(const SeqExpr* s) {
  for (const BindingBlock* block : s->blocks)
    for (const Binding* b : block->bindings)
      if (has_effect(b->value)) return true;
  return false;
}

// Goes backwards through each sequence, so that liveness is known before the definition is met.
class Sweeper {
 public:
  explicit Sweeper(Context& ctx) : ctx_(ctx) {}

  const Function* run(const Function* f) {
    use_type(f->ret_type);
    const SeqExpr* body = sweep(f->body);
    return with_body(ctx_, f, body);
  }

 private:
  const SeqExpr* sweep(const SeqExpr* s) {
    use(s->body);
    std::vector<const BindingBlock*> blocks;
    bool changed = false;
    for (std::size_t i = s->blocks.size(); i-- > 0;) {
      const BindingBlock* block = s->blocks[i];
      std::vector<const Binding*> kept;
      bool same = true;
      for (std::size_t j = block->bindings.size(); j-- > 0;) {
        const Binding* b = block->bindings[j];
        const Binding* made = is_live(b) ? sweep(b) : nullptr;
        same = same && made == b;
        if (made) kept.push_back(made);
      }
      changed = changed || !same;
      if (same) {
        blocks.push_back(block);
      } else if (!kept.empty()) {
        std::reverse(kept.begin(), kept.end());
        blocks.push_back(ctx_.block(kept, block->is_dataflow()));
        ctx_.set_origin(blocks.back(), block);
      }
    }
    if (!changed) return s;
    return make_seq(ctx_, {blocks.rbegin(), blocks.rend()}, s->body, s);
  }

  bool is_live(const Binding* b) {
    if (live_.count(b->var) || has_effect(b->value)) return true;
    if (!b->is_match_cast()) return false;
    std::vector<const Var*> vars;
    collect_vars(b->cast_type, vars);
    for (const Var* v : vars)
      if (live_.count(v)) return true;
    return false;
  }

  const Binding* sweep(const Binding* b) {
    use_type(b->var->type);
    use_type(b->cast_type);
    if (const auto* f = as<Function>(b->value)) {
      for (const Var* v : free_vars(f)) live_.insert(v);
      use_type(f->type);
      const Function* made = run(f);
      return remake_binding(ctx_, b, b->var, made);
    }
    if (const auto* branch = as<If>(b->value)) {
      const SeqExpr* else_branch = sweep(branch->else_branch);
      const SeqExpr* then_branch = sweep(branch->then_branch);
      use(branch->cond);
      use_type(branch->type);
      if (then_branch == branch->then_branch && else_branch == branch->else_branch) return b;
      const If* made = ctx_.if_expr(branch->cond, then_branch, else_branch, branch->type);
      ctx_.set_origin(made, branch);
      return remake_binding(ctx_, b, b->var, made);
    }
    use(b->value);
    return b;
  }

  void use(const Expr* e) {
    walk(e, [&](const Node* n) {
      if (const auto* v = as<Var>(n)) live_.insert(v);
      if (const auto* x = as<Expr>(n)) use_type(x->type);
      if (const auto* call = as<Call>(n))
        for (const Type* t : call->ty_args) use_type(t);
      return true;
    });
  }
  void use_type(const Type* t) {
    if (!t || !t->has_vars) return;
    std::vector<const Var*> vars;
    collect_vars(t, vars);
    live_.insert(vars.begin(), vars.end());
  }

  Context& ctx_;
  std::unordered_set<const Var*> live_;
};

bool is_public(const Expr* f) {
  if (const auto* r = as<Function>(f)) return !r->is_private();
  if (const auto* p = as<PrimFunc>(f)) return !p->is_private();
  return true;  // extern and Python functions: other code may call them
}

const Module* remove_unreached(Context& ctx, const Module* module, const std::vector<std::string>& entries) {
  std::vector<std::string_view> roots(entries.begin(), entries.end());
  for (const ModuleEntry& e : module->entries)
    if (is_public(e.function)) roots.push_back(e.name);
  const Module* reached = reachable_from(ctx, module, roots);
  return reached->entries.size() == module->entries.size() ? module : reached;
}

}  // namespace

const Function* remove_dead_bindings(Context& ctx, const Function* f) { return Sweeper(ctx).run(f); }

Result<const Module*> dead_code_elimination(PassEnv& env, const Module* module,
                                            const DeadCodeEliminationOptions& options) {
  const std::vector<std::string>& entries = options.entry_functions;
  module = remove_unreached(env.ctx, module, entries);
  RLDB_TRY(module, map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
             return remove_dead_bindings(env.ctx, f);
           }));
  return remove_unreached(env.ctx, module, entries);
}

}  // namespace rldb::passes
