// LowerAllocTensor: each R.builtin.alloc_tensor left by the memory planner becomes a storage of its own and a tensor at
// offset 0 in it.
#include "passes/common.h"
#include "passes/lowering/inferred_type.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

class AllocLowerer : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::optional<source::Message> error;

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> out;
    for (const Binding* made : default_binding(b)) {
      const Call* call = as_call_of(made->value, op::BuiltinAllocTensor);
      if (call && call->args.size() >= 3) {
        lower(made, call, out);
      } else {
        out.push_back(made);
      }
    }
    return out;
  }

 private:
  void lower(const Binding* b, const Call* call, std::vector<const Binding*>& out) {
    const auto* dtype = as<DTypeImm>(call->args[1]);
    const std::optional<Span<const Expr*>> dims = shape_values(call->args[0]);
    if (!dims || !dtype) {
      if (!error) error = message(diag::PassUnsupported, print_expr(call), "its shape is not known here");
      return;
    }
    const Expr* bytes = ctx_.i64(std::int64_t(dtype->value.bytes()));
    for (const Expr* d : *dims) bytes = mul(ctx_, bytes, d);
    const Expr* const size[] = {bytes};
    const Expr* scope = call->args.size() > 3 ? call->args[3] : ctx_.string("global");
    const Binding* storage =
        bind_new(ctx_, "storage",
                 op_call(ctx_, op::MemoryAllocStorage,
                         {ctx_.shape(size), call->args[2], scope, ctx_.dtype(DType::UInt(8))}, ctx_.any()),
                 call);
    out.push_back(storage);
    const Call* tensor =
        with_inferred_type(ctx_, op_call(ctx_, op::MemoryAllocTensor,
                                         {storage->var, ctx_.i64(0), call->args[0], dtype, call->args[2]}, call->type));
    ctx_.set_origin(tensor, call);
    out.push_back(remake_binding(ctx_, b, b->var, tensor));
  }
};

}  // namespace

Result<const Module*> lower_alloc_tensor(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    AllocLowerer lowerer(env.ctx);
    const Function* made = lowerer.rewrite_function(f);
    if (lowerer.error) return Failure(std::move(*lowerer.error));
    return made;
  });
}

}  // namespace rldb::passes
