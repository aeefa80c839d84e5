// AttachAttrLayoutFreeBuffers: a kernel called with weights or constants lists the buffers they are passed to in the
// attribute `layout_free_buffers`: a schedule may choose their layout in memory. Each set of such buffers gets its own
// copy of the kernel; kernels that are no longer called are removed.
#include "passes/common.h"
#include "passes/fusion/function_table.h"
#include "passes/pass_functions.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Attacher : public Rewriter {
 public:
  Attacher(Context& ctx, const Module* module, FunctionTable& table, const Function* f)
      : Rewriter(ctx), module_(module), table_(table) {
    for (std::size_t i = input_count(f); i < f->params.size(); ++i) weights_.insert(f->params[i]);
  }

 protected:
  const Expr* visit_call(const Call* c) override {
    const auto* call = as<Call>(default_expr(c));
    if (!as_call_of(call, op::CallTir) || call->args.size() < 2) return call;
    const auto* callee = as<GlobalVar>(call->args[0]);
    const auto* kernel = callee ? as<PrimFunc>(module_->find(callee->name)) : nullptr;
    const auto* args = as<Tuple>(call->args[1]);
    if (!kernel || !args) return call;
    std::vector<std::int64_t> free;
    for (std::size_t i = 0; i < args->items.size(); ++i)
      if (isa<Constant>(args->items[i]) || weights_.contains(args->items[i])) free.push_back(std::int64_t(i));
    const PrimFunc* marked = with_attr(ctx_, kernel, attr_name::LayoutFreeBuffers, ctx_.attr_ints(free));
    std::vector<const Expr*> made(call->args.begin(), call->args.end());
    made[0] = table_.add(marked, callee->name);
    return ctx_.call_typed(call->callee, made, call->type, call->attrs, call->ty_args);
  }

 private:
  const Module* module_;
  FunctionTable& table_;
  std::unordered_set<const Expr*> weights_;
};

}  // namespace

Result<const Module*> attach_attr_layout_free_buffers(PassEnv& env, const Module* module, const NoOptions&) {
  ModuleBuilder builder(env.ctx, *module);
  FunctionTable table(env.ctx, module, builder);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = Attacher(env.ctx, module, table, f).rewrite_function(f);
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? dead_code_elimination(env, builder.build(), {}) : module;
}

}  // namespace rldb::passes
