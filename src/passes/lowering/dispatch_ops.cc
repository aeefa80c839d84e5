// DispatchSortScan and DispatchSampling: orders, running sums and samples on a CPU become calls of the kernels that
// LegalizeOps would make of them. A call on another device stays: its kernels are code for GPU threads, which are not
// generated here.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "passes/lowering/legal_memo.h"
#include "passes/transform/call_expander.h"
#include "rldb/ops/legalize.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::array kSortScan = {op::Sort, op::Argsort, op::Topk, op::Cumsum, op::Cumprod};
constexpr std::array kSampling = {op::MultinomialFromUniform};

class Dispatcher : public CallExpander {
 public:
  Dispatcher(Context& ctx, ops::Legalizer& legalizer, LegalMemo& memo, std::span<const std::string_view> operators)
      : CallExpander(ctx), legalizer_(legalizer), memo_(memo), operators_(operators) {}

 protected:
  const Expr* expand(const Call* call) override {
    const auto* callee = as<Op>(call->callee);
    if (!callee || std::find(operators_.begin(), operators_.end(), callee->name) == operators_.end()) return nullptr;
    if (!on_cpu(call) || !may_rewrite([&] { return fmt::format("`{}` becomes a kernel", callee->name); }))
      return nullptr;
    if (const Call* known = memo_.find(call)) return known;
    BlockBuilder blocks(ctx_);
    blocks.begin_scope();
    const Result<const Expr*> made = legalizer_.legalize(call, blocks);
    const SeqExpr* before = blocks.end_scope(call);
    if (!made.ok() || !before->blocks.empty()) return nullptr;
    memo_.remember(call, *made);
    return *made;
  }

 private:
  static bool on_cpu(const Call* call) {
    static const std::int64_t cpu = device_type_of({});
    const auto* t = as<TensorType>(call->args[0]->type);
    return !t || !t->vdevice || device_type_of(t->vdevice->target_kind) == cpu;
  }

  ops::Legalizer& legalizer_;
  LegalMemo& memo_;
  std::span<const std::string_view> operators_;
};

Result<const Module*> dispatch(PassEnv& env, const Module* module, std::span<const std::string_view> operators) {
  ModuleBuilder builder(env.ctx, *module);
  ops::Legalizer legalizer(env.ctx, builder);
  LegalMemo memo(env.ctx);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = Dispatcher(env.ctx, legalizer, memo, operators).rewrite_function(f);
    if (made == f) continue;
    builder.set(e.name, refine_result(env.ctx, made));
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace

Result<const Module*> dispatch_sort_scan(PassEnv& env, const Module* module, const PassOptions&) {
  return dispatch(env, module, kSortScan);
}

Result<const Module*> dispatch_sampling(PassEnv& env, const Module* module, const PassOptions&) {
  return dispatch(env, module, kSampling);
}

}  // namespace rldb::passes
