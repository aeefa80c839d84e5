// RewriteUnsafeSelect: a T.Select computes both of its values; where one of them reads memory or has an effect, it
// becomes T.if_then_else, which computes only the chosen one.
#include <algorithm>

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Whether computing the expression needlessly may fail or have an effect. A choice inside it is guarded by itself, so
// only its condition matters; an address is taken without reading.
bool is_unsafe(const Expr* e) {
  bool unsafe = false;
  walk(e, [&](const Node* n) {
    if (unsafe) return false;
    const auto only = [&](const Expr* part) { return unsafe = is_unsafe(part), false; };
    if (const auto* s = as<SelectExpr>(n)) return only(s->cond);
    if (isa<BufferLoad>(n)) {
      unsafe = true;
      return false;
    }
    const auto* call = as<Call>(n);
    if (!call) return true;
    if (is_call_of(call, intrin::IfThenElse)) return only(call->args[0]);
    if (is_call_of(call, intrin::AddressOf)) {
      if (const auto* load = as<BufferLoad>(call->args[0]))
        unsafe = std::any_of(load->indices.begin(), load->indices.end(), is_unsafe);
      return false;
    }
    const auto* op = as<Op>(call->callee);
    unsafe = !op || !op->intrinsic || op->intrinsic->purity != IntrinsicPurity::Pure;
    return !unsafe;
  });
  return unsafe;
}

class Guard : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    const Expr* made = default_expr(e);
    const auto* s = as<SelectExpr>(made);
    if (!s || s->cond->dtype() != DType::Bool() || !(is_unsafe(s->true_value) || is_unsafe(s->false_value)))
      return made;
    return ctx_.intrin(s->dtype(), intrin::IfThenElse, {s->cond, s->true_value, s->false_value});
  }
};

}  // namespace

Result<const Module*> rewrite_unsafe_select(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, Guard(env.ctx).rewrite(f->body));
  });
}

}  // namespace rldb::passes
