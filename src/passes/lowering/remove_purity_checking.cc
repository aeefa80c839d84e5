// RemovePurityChecking: pure functions (local ones too) are marked `relax.force_pure`, and the operators that only
// assert purity give way to what they wrap, so that later passes may insert impure calls anywhere.
#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool is_forced(const Function* f) {
  const Attr* a = find_attr(f->attrs, "relax.force_pure");
  return a && a->integer != 0;
}

class PurityRemover : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Function* remove(const Function* f) {
    const Function* made = rewrite_function(f);
    if (made->is_pure && !is_forced(made)) made = with_attr(ctx_, made, "relax.force_pure", ctx_.attr(true));
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
    const auto* op = as<Op>(call->callee);
    if (!op || call->args.empty()) return call;
    if (op->name == "relax.invoke_pure_closure") {
      return ctx_.call_typed(ctx_.op("relax.invoke_closure"), call->args, call->type, call->attrs, call->ty_args);
    }
    // The in-place indices of call_inplace_packed are a promise to the type checker, not an argument.
    if (op->name == "relax.call_pure_packed" || op->name == "relax.call_inplace_packed") {
      return ctx_.call_typed(call->args[0], call->args.subspan(1), call->type, {}, call->ty_args);
    }
    return call;
  }
};

}  // namespace

Result<const Module*> remove_purity_checking(PassEnv& env, const Module* module, const PassOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return PurityRemover(env.ctx).remove(f);
  });
}

}  // namespace rldb::passes
