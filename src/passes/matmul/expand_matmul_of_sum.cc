// ExpandMatmulOfSum: x @ (A + B) becomes x @ A + x @ B, so that operands that do not change between calls (weights) can
// be combined ahead of time. Not done for a sum of weights alone, which is computed once.
//
// Stricter than TVM: only for summands of the same shape. A broadcast one would be multiplied unbroadcast.
#include "passes/matmul/ahead_of_time.h"
#include "passes/operators/call_expander.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/transpose.h"

namespace rldb::passes {

using namespace ir;

namespace {

class SumExpander : public CallExpander {
 public:
  SumExpander(Context& ctx, const Function* f) : CallExpander(ctx), ahead_(f) {}

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = CallExpander::visit_binding(b);
    for (const Binding* m : made)
      if (!m->is_match_cast()) ahead_.learn(m->var, m->value);
    return made;
  }

  const Expr* expand(const Call* call) override {
    if (!as_call_of(call, op::Matmul)) return nullptr;
    const Call* turned = call_of(call->args[1], op::PermuteDims);
    const Call* sum = call_of(turned ? turned->args[0] : call->args[1], op::Add);
    if (!sum || (ahead_.has(sum->args[0]) && ahead_.has(sum->args[1])) || !same_shape(sum->args[0], sum->args[1]))
      return nullptr;
    const Expr* parts[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const Expr* weight = sum->args[i];
      if (turned) weight = emit(ctx_.call(CallSpec{turned->callee, std::vector{weight}, turned->attrs, {}}));
      if (!weight) return nullptr;
      parts[i] = emit(ctx_.call(CallSpec{call->callee, std::vector{call->args[0], weight}, call->attrs, {}}));
      if (!parts[i]) return nullptr;
    }
    return value_or_null(ctx_.call(op::Add, {parts[0], parts[1]}));
  }

 private:
  bool same_shape(const Expr* a, const Expr* b) const {
    const auto* x = as<TensorType>(a->type);
    const auto* y = as<TensorType>(b->type);
    return x && y && x->has_shape && y->has_shape && prove_shapes_equal(ctx_, x->shape, y->shape);
  }

  AheadOfTime ahead_;
};

}  // namespace

Result<const Module*> expand_matmul_of_sum(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return SumExpander(env.ctx, f).run(f);
  });
}

}  // namespace rldb::passes
