// ReorderPermuteDimsAfterConcat: a concatenation of tensors with the same permutation becomes one permutation of the
// tensors' concatenation.
#include <numeric>

#include "passes/operators/call_expander.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/axis_attr.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The operand's axis for each axis of the result; empty when the rank is not known.
std::vector<std::int64_t> axes_of(const Call* permute) {
  const auto* t = as<TensorType>(permute->args[0]->type);
  if (!t || t->ndim < 0) return {};
  std::vector<std::int64_t> axes;
  const Attr* given = find_attr(permute->attrs, op_attr::Axes);
  if (!given || !given->is(AttrKind::List)) {
    axes.resize(std::size_t(t->ndim));
    std::iota(axes.rbegin(), axes.rend(), 0);
    return axes;
  }
  for (const Attr* a : given->items) axes.push_back(a->integer < 0 ? a->integer + t->ndim : a->integer);
  return axes;
}

class PermuteReorderer : public CallExpander {
 public:
  using CallExpander::CallExpander;

 protected:
  const Expr* expand(const Call* call) override {
    const auto* parts = as_call_of(call, op::Concat) ? as<Tuple>(value_of(call->args[0])) : nullptr;
    const Attr* axis = find_attr(call->attrs, op_attr::Axis);
    if (!parts || parts->items.empty() || !axis || !axis->is(AttrKind::Int)) return nullptr;
    const Call* first = call_of(parts->items[0], op::PermuteDims);
    if (!first) return nullptr;
    const std::vector<std::int64_t> axes = axes_of(first);
    std::vector<const Expr*> operands;
    for (const Expr* item : parts->items) {
      const Call* permute = call_of(item, op::PermuteDims);
      if (!permute || axes.empty() || axes_of(permute) != axes) return nullptr;
      operands.push_back(permute->args[0]);
    }
    const auto at = std::size_t(axis->integer < 0 ? axis->integer + std::int64_t(axes.size()) : axis->integer);
    if (at >= axes.size()) return nullptr;
    const Expr* joined =
        emit(ctx_.call(op::Concat, {ctx_.tuple(operands)}, {ctx_.named(op_attr::Axis, ctx_.attr(axes[at]))}));
    if (!joined) return nullptr;
    return value_or_null(ctx_.call(CallSpec{first->callee, std::vector{joined}, first->attrs, {}}));
  }
};

}  // namespace

Result<const Module*> reorder_permute_dims_after_concat(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return PermuteReorderer(env.ctx).run(f);
  });
}

}  // namespace rldb::passes
