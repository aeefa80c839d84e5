// ThreadSync: barriers between accesses of different threads to memory of the given scope (ir/thread_barriers.h).
#include <fmt/format.h>

#include "rldb/ir/thread_barriers.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/memory_scope.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "tir_passes/async_attrs.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Other threads see the memory that asynchronous copies filled after a barrier only.
class AfterWait : public Rewriter {
 public:
  AfterWait(Context& ctx, std::string_view scope) : Rewriter(ctx), scope_(scope) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* outer = as<AttrStmt>(s);
    const auto* inner = outer && outer->key == kWaitQueue ? as<AttrStmt>(outer->body) : nullptr;
    if (!inner || inner->key != kWaitCount) return default_stmt(s);
    const Stmt* const both[] = {ctx_.evaluate(barrier_over(ctx_, scope_)), inner->body};
    return ctx_.attr_stmt(outer->node, outer->key, outer->value,
                          ctx_.attr_stmt(inner->node, inner->key, inner->value, ctx_.seq_stmt(both)));
  }

 private:
  std::string_view scope_;
};

}  // namespace

Result<const Module*> thread_sync(PassEnv& env, const Module* module, const ThreadSyncOptions& options) {
  const std::string& scope = options.storage_scope;
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    const auto refuse = [&](std::string why) {
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("the barriers of `{}`", name), std::move(why)));
    };
    const Stmt* body = scope == memory_scope::kShared ? AfterWait(env.ctx, scope).rewrite(f->body) : f->body;
    const BarrierPlan plan = plan_barriers(env.ctx, body, scope);
    if (plan.under_condition) return refuse("one is needed below a condition, where not all threads come by");
    if (plan.before.empty()) return with_body(env.ctx, f, body);
    if (scope == memory_scope::kGlobal) return refuse("threads of different blocks would have to wait for each other");
    return with_body(env.ctx, f, with_barriers(env.ctx, body, scope, plan.before));
  });
}

}  // namespace rldb::passes
