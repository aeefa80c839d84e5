// StaticPlanBlockMemory: tensors whose live ranges do not overlap share storage (storage_plan.h defines which).
// Allocations not covered by the plan stay R.builtin.alloc_tensor for LowerAllocTensor.
//
// Unlike TVM (apache/tvm issues 20190, 20207, 20191): a match_cast of a tensor keeps its storage alive, so a value read
// through the cast is never overwritten; and a storage that a branch allocates is not reused outside the branch, where
// its variable is not defined.
#include "passes/lowering/inferred_type.h"
#include "passes/lowering/storage_plan.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;
using support::Failure;

namespace {

constexpr std::string_view kPlanOutput = attr_name::PlanDynamicOutput;

class PlanApplier : public Rewriter {
 public:
  PlanApplier(Context& ctx, const StoragePlan& plan, Analyzer& analyzer, bool plan_outputs)
      : Rewriter(ctx), plan_(plan), analyzer_(analyzer), plan_outputs_(plan_outputs) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const Call* call = as_call_of(b->value, op::BuiltinAllocTensor);
    if (!call) return default_binding(b);
    if (PlannedStorage* storage = plan_.storage_of(call)) return place(b, call, *storage);
    if (plan_outputs_) return place_output(b, call);
    return default_binding(b);
  }

 private:
  std::vector<const Binding*> place(const Binding* b, const Call* call, PlannedStorage& storage) {
    std::vector<const Binding*> out;
    if (!storage.var) {
      out.push_back(alloc_storage(storage.bytes, storage.scope, storage.dtype, call));
      storage.var = out.back()->var;
    }
    out.push_back(alloc_tensor(b, call, storage.var));
    return out;
  }

  // A dynamic output with an upper bound gets a storage of that size.
  std::vector<const Binding*> place_output(const Binding* b, const Call* call) {
    const std::optional<Span<const Expr*>> dims = shape_values(call->args[0]);
    const auto* dtype = as<DTypeImm>(call->args[1]);
    if (!dims || !dtype || all_int_literals(*dims)) return default_binding(b);
    const Expr* bytes = ctx_.i64(1);
    for (const Expr* d : *dims) bytes = mul(ctx_, bytes, upper_bound(ctx_, analyzer_, d));
    bytes = mul(ctx_, bytes, ctx_.i64(std::int64_t(dtype->value.bytes())));
    const auto* scope = call->args.size() > 3 ? as<StringImm>(call->args[3]) : nullptr;
    const Binding* storage = alloc_storage(bytes, scope ? scope->value : "global", dtype->value, call);
    return {storage, alloc_tensor(b, call, storage->var)};
  }

  const Binding* alloc_storage(const Expr* bytes, std::string_view scope, DType dtype, const Call* call) {
    const Expr* const size[] = {bytes};
    const Expr* device = call->args.size() > 2 ? call->args[2] : ctx_.i64(0);
    return bind_new(ctx_, "storage",
                    op_call(ctx_, op::MemoryAllocStorage,
                            {ctx_.shape(size), device, ctx_.string(scope), ctx_.dtype(dtype)}, ctx_.any()),
                    call);
  }

  const Binding* alloc_tensor(const Binding* b, const Call* call, const Var* storage) {
    const Expr* device = call->args.size() > 2 ? call->args[2] : ctx_.i64(0);
    const Call* made = with_inferred_type(
        ctx_,
        op_call(ctx_, op::MemoryAllocTensor, {storage, ctx_.i64(0), call->args[0], call->args[1], device}, call->type));
    ctx_.set_origin(made, call);
    return remake_binding(ctx_, b, b->var, made);
  }

  const StoragePlan& plan_;
  Analyzer& analyzer_;
  bool plan_outputs_;
};

}  // namespace

Result<const Module*> static_plan_block_memory(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    Analyzer analyzer(env.ctx);
    RLDB_TRY_VOID(bind_upper_bounds(f, analyzer));
    const StoragePlan plan(env.ctx, module, f, analyzer);
    const Attr* outputs = find_attr(f->attrs, kPlanOutput);
    const bool plan_outputs = outputs && outputs->integer != 0;
    if (plan.empty() && !plan_outputs) return f;
    const Function* made = PlanApplier(env.ctx, plan, analyzer, plan_outputs).rewrite_function(f);
    return outputs ? with_attr(env.ctx, made, kPlanOutput, nullptr) : made;
  });
}

}  // namespace rldb::passes
