// RemoveRedundantReshape: a reshape of a reshape reads the first one's operand, and a reshape to the operand's own
// shape is removed.
#include <fmt/format.h>

#include "passes/common.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

class ReshapeRemover : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  std::vector<const Binding*> visit_binding(const Binding* b) override {
    std::vector<const Binding*> made = default_binding(b);
    if (made.size() != 1 || b->is_match_cast()) return made;
    const Call* reshape = as_call_of(made[0]->value, op::Reshape);
    if (!reshape) return made;
    const Expr* from = source_of(reshape->args[0]);
    const Expr* value = is_noop(from, reshape) ? from : nullptr;
    if (!value && from != reshape->args[0]) {
      auto shorter = ctx_.call(CallSpec{reshape->callee, std::vector{from, reshape->args[1]}, reshape->attrs, {}});
      // Not worthwhile if less is known of the result.
      if (shorter.ok() && (*shorter)->type == reshape->type) value = *shorter;
    }
    if (value && !may_rewrite([&] { return fmt::format("`{}` is reshaped no more", b->var->name); })) value = nullptr;
    if (value && !isa<Var>(value)) ctx_.set_origin(value, reshape);
    if (value) made[0] = remake_binding(ctx_, made[0], made[0]->var, value);
    if (as_call_of(made[0]->value, op::Reshape)) reshapes_[made[0]->var] = as<Call>(made[0]->value);
    return made;
  }

 private:
  // A reshape's operand, past a preceding reshape. A shape with -1 means nothing without it, but the type does.
  const Expr* source_of(const Expr* e) const {
    const auto found = isa<Var>(e) ? reshapes_.find(as<Var>(e)) : reshapes_.end();
    return found == reshapes_.end() ? e : found->second->args[0];
  }

  bool is_noop(const Expr* from, const Call* reshape) {
    const auto* a = as<TensorType>(from->type);
    const auto* b = as<TensorType>(reshape->type);
    return a && b && a->has_shape && b->has_shape && a->dtype == b->dtype && a->vdevice == b->vdevice &&
           prove_shapes_equal(ctx_, a->shape, b->shape);
  }

  std::unordered_map<const Var*, const Call*> reshapes_;
};

}  // namespace

Result<const Module*> remove_redundant_reshape(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    const Function* made = ReshapeRemover(env.ctx).rewrite_function(f);
    return made == f ? f : remove_dead_bindings(env.ctx, canonicalize(env.ctx, made));
  });
}

}  // namespace rldb::passes
