// ReorderTakeAfterMatmul: a matmul by columns that `take` picks from a table becomes a take of the matmul by the whole
// table; so does one by matrices picked for each batch. This computes more but moves the look-up after the weights, so
// that they can be combined with others.
#include "passes/operators/call_expander.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::passes {

using namespace ir;

namespace {

class TakeReorderer : public CallExpander {
 public:
  using CallExpander::CallExpander;

 protected:
  const Expr* expand(const Call* call) override {
    const Call* take = as_call_of(call, op::Matmul) ? call_of(call->args[1], op::Take) : nullptr;
    const Attr* axis = take ? find_attr(take->attrs, op_attr::Axis) : nullptr;
    if (!axis || !axis->is(AttrKind::Int)) return nullptr;
    const TensorType* lhs = shaped(call->args[0]);
    const TensorType* table = shaped(take->args[0]);
    const TensorType* indices = shaped(take->args[1]);
    if (!lhs || !table || !indices || indices->ndim != 1) return nullptr;
    const std::int64_t at = axis->integer < 0 ? axis->integer + table->ndim : axis->integer;
    if (at + 1 == table->ndim && table->ndim >= 2) return columns(call, take);
    if (at == 0 && table->ndim == 3 && lhs->ndim == 3) return batches(call, take, lhs, table, indices);
    return nullptr;
  }

 private:
  const Expr* matmul(const Call* like, const Expr* rhs) {
    return emit(ctx_.call(CallSpec{like->callee, std::vector{like->args[0], rhs}, like->attrs, {}}));
  }

  Result<const Call*> take_from(const Expr* data, const Call* like, std::int64_t axis) {
    const Span<NamedAttr> attrs = ctx_.with_attr(like->attrs, op_attr::Axis, ctx_.attr(axis));
    return ctx_.call(CallSpec{like->callee, std::vector{data, like->args[1]}, attrs, {}});
  }

  const Expr* columns(const Call* call, const Call* take) {
    const Expr* all = matmul(call, take->args[0]);
    const auto* t = all ? as<TensorType>(all->type) : nullptr;
    return t && t->ndim > 0 ? value_or_null(take_from(all, take, t->ndim - 1)) : nullptr;
  }

  // Concatenates the matrices, multiplies by all of them at once, and takes the result for each batch.
  const Expr* batches(const Call* call, const Call* take, const TensorType* lhs, const TensorType* table,
                      const TensorType* indices) {
    const Expr* count = table->shape[0];
    const Expr* inner = table->shape[1];
    const Expr* outer = table->shape[2];
    const Expr* wide = mul(ctx_, count, outer);
    const std::int64_t order[] = {1, 0, 2};
    const Expr* turned =
        emit(ctx_.call(op::PermuteDims, {take->args[0]}, {ctx_.named(op_attr::Axes, ctx_.attr_ints(order))}));
    if (!turned) return nullptr;
    const Expr* const flat_dims[] = {inner, wide};
    const Expr* flat = emit(ctx_.call(op::Reshape, {turned, ctx_.shape(flat_dims)}));
    const Expr* product = flat ? matmul(call, flat) : nullptr;
    if (!product) return nullptr;
    const Expr* const split_dims[] = {lhs->shape[0], lhs->shape[1], count, outer};
    const Expr* split = emit(ctx_.call(op::Reshape, {product, ctx_.shape(split_dims)}));
    auto picked = split ? take_from(split, take, 2) : Result<const Call*>(nullptr);
    const Expr* all = split ? emit(std::move(picked)) : nullptr;
    if (!all || !batch_agrees(lhs, indices)) return nullptr;
    const Expr* const operands[] = {all};
    return value_or_null(
        ctx_.call(op::Einsum, {ctx_.tuple(operands)}, {ctx_.named(op_attr::Subscripts, ctx_.attr("ijik->ijk"))}));
  }

  // One matrix for each batch: a left operand with a batch of one would be broadcast.
  bool batch_agrees(const TensorType* lhs, const TensorType* indices) const {
    const Expr* const a[] = {lhs->shape[0]};
    const Expr* const b[] = {indices->shape[0]};
    return prove_shapes_equal(ctx_, a, b);
  }
};

}  // namespace

Result<const Module*> reorder_take_after_matmul(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return TakeReorderer(env.ctx).run(f);
  });
}

}  // namespace rldb::passes
