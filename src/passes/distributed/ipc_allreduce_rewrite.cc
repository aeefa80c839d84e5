// IPCAllReduceRewrite(allreduce_strategy): an all-reduce sum of a tensor allocated in this function is computed by a
// special kernel over memory that the devices share (1: each reads all parts, 2: each reduces a part). Without a
// strategy nothing is rewritten, as in TVM when the runtime has no such kernel.
//
// TVM follows a reshaped input back to its allocation; so does this pass, even when the allocation has other uses:
// shared memory is memory like any other.
#include "passes/common.h"
#include "passes/distributed/ipc_memory.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kGlobalScope = "global";
constexpr std::size_t kScope = 3;  // arguments of R.builtin.alloc_tensor

// The all-reduces of a function, and the allocations that they read.
class Allreduces : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool find(const Function* f) {
    walk(f, [&](const Node* n) {
      if (const auto* b = as<Binding>(n); b && !b->is_match_cast()) look_at(b);
      return true;
    });
    return !sums_.empty();
  }

  const Function* rewrite_all(const Function* f, std::int64_t strategy) {
    strategy_ = strategy;
    return rewrite_function(f);
  }

 protected:
  const Expr* visit_call(const Call* c) override {
    if (allocations_.count(c)) {
      std::vector<const Expr*> args(c->args.begin(), c->args.end());
      args[kScope] = ctx_.string(kIpcScope);
      return ctx_.call_typed(c->callee, args, c->type, c->attrs, c->ty_args);
    }
    if (!sums_.count(c)) return default_expr(c);
    const Expr* const args[] = {rewrite(c->args[0]), ctx_.i64(strategy_), rewrite(c->args[3])};
    return ctx_.call_typed(ctx_.extern_func(runtime_function::CustomAllreduce), args, c->type, c->attrs, c->ty_args);
  }

 private:
  void look_at(const Binding* b) {
    support::poll();
    if (const auto* v = as<Var>(b->value)) return stands_for(b->var, v);
    const auto* call = as<Call>(b->value);
    if (!call) return;
    if (as_call_of(call, op::BuiltinAllocTensor)) {
      memory_[b->var] = call;
    } else if (as_call_of(call, op::Reshape)) {
      if (const auto* v = as<Var>(call->args[0])) stands_for(b->var, v);
    } else if (is_sum(call)) {
      const auto* v = as<Var>(call->args[0]);
      const auto found = v ? memory_.find(v) : memory_.end();
      if (found == memory_.end() || !is_global(found->second)) return;
      if (!may_rewrite([] { return std::string("a sum over workers reads shared memory"); })) return;
      allocations_.insert(found->second);
      sums_.insert(call);
    }
  }

  void stands_for(const Var* v, const Var* of) {
    if (const auto found = memory_.find(of); found != memory_.end()) memory_[v] = found->second;
  }

  static bool is_global(const Call* allocation) {
    const auto* scope = allocation->args.size() > kScope ? as<StringImm>(allocation->args[kScope]) : nullptr;
    return scope && scope->value == kGlobalScope;
  }

  // runtime.disco.allreduce(x, R.shape([0]), in_group, out): 0 is the sum.
  static bool is_sum(const Call* call) {
    const auto* callee = as<ExternFunc>(call->callee);
    if (!callee || callee->symbol != runtime_function::DiscoAllreduce || call->args.size() != 4) return false;
    const auto kind = shape_values(call->args[1]);
    return kind && kind->size() == 1 && is_const((*kind)[0], 0);
  }

  std::int64_t strategy_ = 0;
  std::unordered_map<const Var*, const Call*> memory_;
  std::unordered_set<const Call*> allocations_;
  std::unordered_set<const Call*> sums_;
};

}  // namespace

Result<const Module*> ipc_allreduce_rewrite(PassEnv& env, const Module* module,
                                            const IPCAllReduceRewriteOptions& options) {
  if (!options.allreduce_strategy) return module;
  const std::int64_t strategy = *options.allreduce_strategy;
  if (strategy != 1 && strategy != 2)
    return support::Failure(
        source::message(diag::PassOptionValue, "allreduce_strategy", "1 (one shot) or 2 (two shots)", strategy));
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    Allreduces sums(env.ctx);
    return sums.find(f) ? sums.rewrite_all(f, strategy) : f;
  });
}

}  // namespace rldb::passes
