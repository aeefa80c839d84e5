// DispatchSortScan and DispatchSampling: sorts, scans and samples on a CPU become calls of the kernels that LegalizeOps
// would make of them. Sorts, running sums and products on a GPU become kernels of its threads, and then all kernels of
// the module are bound to threads, as in TVM. Other calls on a GPU stay: LegalizeOps makes kernels for a CPU of them.
#include <fmt/format.h>

#include <unordered_map>

#include "passes/lowering/with_kernels.h"
#include "passes/operators/call_expander.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ops/gpu_kernels.h"
#include "rldb/passes/helpers.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/tir_passes/pass_functions.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Dispatcher : public CallExpander {
 public:
  Dispatcher(Context& ctx, KernelMaker& kernels, op::Trait operators)
      : CallExpander(ctx), kernels_(kernels), operators_(operators) {}
  // Of the devices that the kernels made for GPUs are for, by names of kernels. Equal kernels are of equal threads.
  std::unordered_map<std::string_view, const Attr*> targets;

 protected:
  const Expr* expand(const Call* call) override {
    const auto* callee = as<Op>(call->callee);
    if (!callee || !op::has(callee, operators_)) return nullptr;
    const VDevice* gpu = other_device(call);
    if (gpu && !has_gpu_form(call, gpu)) return nullptr;
    if (!may_rewrite([&] { return fmt::format("`{}` becomes a kernel", callee->name); })) return nullptr;
    if (const Call* known = kernels_.memo.find(call)) return known;
    if (gpu) return for_gpu(call, gpu);
    BlockBuilder blocks(ctx_);
    blocks.begin_scope();
    const Result<const Expr*> made = kernels_.legalizer.legalize(call, blocks);
    const SeqExpr* before = blocks.end_scope(call);
    if (!made.ok() || !before->blocks.empty()) return nullptr;
    kernels_.memo.remember(call, *made);
    return *made;
  }

 private:
  // The device of a call that does not run on the CPU.
  static const VDevice* other_device(const Call* call) {
    static const std::int64_t cpu = device_type_of({});
    const auto* t = as<TensorType>(call->args[0]->type);
    return t && t->vdevice && device_type_of(t->vdevice->target_kind) != cpu ? t->vdevice : nullptr;
  }
  const Attr* target_of(const VDevice* d) { return d->target ? d->target : ctx_.attr(d->target_kind); }
  bool has_gpu_form(const Call* call, const VDevice* d) { return ops::has_gpu_kernel(call) && is_gpu(target_of(d)); }
  const Expr* for_gpu(const Call* call, const VDevice* d) {
    const Result<const Expr*> made =
        ops::gpu_kernel(kernels_.legalizer, call, {threads_per_block(target_of(d)), d->target_kind == "vulkan"});
    if (!made.ok()) return nullptr;
    kernels_.memo.remember(call, *made);
    if (const Call* kernel = as_call_of(*made, op::CallTir))
      targets[as<GlobalVar>(kernel->args[0])->name] = target_of(d);
    return *made;
  }

  KernelMaker& kernels_;
  op::Trait operators_;
};

using Targets = std::unordered_map<std::string_view, const Attr*>;

// Each made kernel in the threads of its own device, which TVM does not record in it, and all others of the module.
Result<const Module*> in_threads(PassEnv& env, const Module* module, const Targets& targets) {
  const auto with_targets = [&](const Module* m, bool given) {
    ModuleBuilder builder(env.ctx, *m);
    for (const auto& [name, target] : targets)
      if (const auto* f = as<PrimFunc>(builder.find(name)))
        builder.set(name, with_attr(env.ctx, f, kTargetAttr, given ? target : nullptr));
    return builder.build();
  };
  RLDB_TRY(const Module* scheduled, apply_default_schedule(env, with_targets(module, true), {}));
  return with_targets(scheduled, false);
}

Result<const Module*> dispatch(PassEnv& env, const Module* module, op::Trait operators) {
  Targets targets;
  const Module* made = map_with_kernels(env, module, [&](const Function* f, KernelMaker& kernels) {
    Dispatcher dispatcher(env.ctx, kernels, operators);
    const Function* made = dispatcher.rewrite_function(f);
    targets.insert(dispatcher.targets.begin(), dispatcher.targets.end());
    return made == f ? f : refine_result(env.ctx, made);
  });
  return targets.empty() ? Result<const Module*>(made) : in_threads(env, made, targets);
}

}  // namespace

Result<const Module*> dispatch_sort_scan(PassEnv& env, const Module* module, const NoOptions&) {
  return dispatch(env, module, op::Trait::SortScan);
}

Result<const Module*> dispatch_sampling(PassEnv& env, const Module* module, const NoOptions&) {
  return dispatch(env, module, op::Trait::Sampling);
}

}  // namespace rldb::passes
