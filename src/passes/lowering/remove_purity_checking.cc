// RemovePurityChecking: pure functions (local ones too) are marked `relax.force_pure`, and operators that only assert
// purity are replaced by the calls they wrap, so that later passes may insert impure calls anywhere.
#include "passes/common.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op/closure.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool is_forced(const Function* f) {
  const Attr* a = find_attr(f->attrs, attr_name::ForcePure);
  return a && a->integer != 0;
}

class PurityRemover : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* remove(const Function* f) {
    const Function* made = rewrite_function(f);
    if (made->is_pure && !is_forced(made)) made = with_attr(ctx_, made, attr_name::ForcePure, ctx_.attr(true));
    return made;
  }

 protected:
  const Expr* visit_expr(const Expr* e) override {
    if (const auto* f = as<Function>(e)) return remove(f);
    return Rewriter::visit_expr(e);
  }
  const Expr* visit_call(const Call* call) override {
    const Expr* made = unwrap(call);
    if (made == call) return Rewriter::visit_call(call);
    ctx_.set_origin(made, call);
    return rewrite(made);
  }

 private:
  const Expr* unwrap(const Call* call) {
    if (call->args.empty() || !op::is_call_with(call, op::Trait::PureOverride)) return call;
    if (op::is_call_with(call, op::Trait::CallsClosure)) {
      return ctx_.call_typed(ctx_.op(op::InvokeClosure), call->args, call->type, call->attrs, call->ty_args);
    }
    // The in-place indices of call_inplace_packed are a promise to the type checker, not an argument.
    return ctx_.call_typed(call->args[0], call->args.subspan(1), call->type, {}, call->ty_args);
  }
};

}  // namespace

Result<const Module*> remove_purity_checking(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return PurityRemover(env.ctx).remove(f);
  });
}

}  // namespace rldb::passes
