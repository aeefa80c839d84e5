// DispatchSortScan and DispatchSampling: sorts, scans and samples on a CPU become calls of the kernels that LegalizeOps
// would make of them. A call on another device stays: its kernels would be code for GPU threads, which are not
// generated here.
#include <fmt/format.h>

#include "passes/lowering/with_kernels.h"
#include "passes/operators/call_expander.h"
#include "rldb/ir/op_traits.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Dispatcher : public CallExpander {
 public:
  Dispatcher(Context& ctx, KernelMaker& kernels, op::Trait operators)
      : CallExpander(ctx), kernels_(kernels), operators_(operators) {}

 protected:
  const Expr* expand(const Call* call) override {
    const auto* callee = as<Op>(call->callee);
    if (!callee || !op::has(callee, operators_)) return nullptr;
    if (!on_cpu(call) || !may_rewrite([&] { return fmt::format("`{}` becomes a kernel", callee->name); }))
      return nullptr;
    if (const Call* known = kernels_.memo.find(call)) return known;
    BlockBuilder blocks(ctx_);
    blocks.begin_scope();
    const Result<const Expr*> made = kernels_.legalizer.legalize(call, blocks);
    const SeqExpr* before = blocks.end_scope(call);
    if (!made.ok() || !before->blocks.empty()) return nullptr;
    kernels_.memo.remember(call, *made);
    return *made;
  }

 private:
  static bool on_cpu(const Call* call) {
    static const std::int64_t cpu = device_type_of({});
    const auto* t = as<TensorType>(call->args[0]->type);
    return !t || !t->vdevice || device_type_of(t->vdevice->target_kind) == cpu;
  }

  KernelMaker& kernels_;
  op::Trait operators_;
};

Result<const Module*> dispatch(PassEnv& env, const Module* module, op::Trait operators) {
  return map_with_kernels(env, module, [&](const Function* f, KernelMaker& kernels) {
    const Function* made = Dispatcher(env.ctx, kernels, operators).rewrite_function(f);
    return made == f ? f : refine_result(env.ctx, made);
  });
}

}  // namespace

Result<const Module*> dispatch_sort_scan(PassEnv& env, const Module* module, const NoOptions&) {
  return dispatch(env, module, op::Trait::SortScan);
}

Result<const Module*> dispatch_sampling(PassEnv& env, const Module* module, const NoOptions&) {
  return dispatch(env, module, op::Trait::Sampling);
}

}  // namespace rldb::passes
