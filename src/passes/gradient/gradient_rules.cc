// Gradients of arithmetic, reductions and data movement.
#include "passes/gradient/gradient_rules.h"

#include "rldb/ir/arith.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/dtype.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/grad.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/order_attr.h"
#include "rldb/ir/op_rule.h"
#include "rldb/ir/scalar.h"
#include "rldb/runtime/value.h"

namespace rldb::passes {

using namespace ir;

const Expr* GradientCall::fail(std::string reason) {
  if (problem_.empty()) problem_ = std::move(reason);
  return grad_;
}

const Expr* GradientCall::make(std::string_view op, std::initializer_list<const Expr*> args,
                               std::initializer_list<NamedAttr> attrs) {
  auto made = ctx_.call(op, args, attrs);
  return made.ok() ? *made : fail(made.error().text);
}

const Expr* GradientCall::make_like(std::string_view op, std::initializer_list<const Expr*> args) {
  auto made = ctx_.call(CallSpec{ctx_.op(op), std::vector<const Expr*>(args), call_->attrs, {}});
  return made.ok() ? *made : fail(made.error().text);
}

const Expr* GradientCall::scalar(double value, const Expr* like) {
  const auto* t = as<TensorType>(like->type);
  if (!t || t->dtype.is_void()) return fail("the dtype of an operand is not known");
  auto made = runtime::Tensor::empty({}, t->dtype);
  if (!made.ok()) return fail("a constant cannot be made");
  runtime::store_double((*made)->data(), t->dtype, value);
  return ctx_.constant(runtime::Value(*made));
}

const TensorType* GradientCall::tensor(const Expr* e) {
  const auto* t = as<TensorType>(e->type);
  if (t && t->has_shape) return t;
  fail("the shape of an operand is not known");
  return nullptr;
}

const Expr* GradientCall::shape(const Expr* e) {
  const TensorType* t = tensor(e);
  return t ? ctx_.shape(t->shape) : grad_;
}

std::optional<std::int64_t> GradientCall::dim(const Expr* e, std::int64_t axis) {
  const TensorType* t = tensor(e);
  if (!t) return std::nullopt;
  if (axis < 0) axis += t->ndim;
  const auto n = axis >= 0 && axis < t->ndim ? const_int(t->shape[std::size_t(axis)]) : std::nullopt;
  if (!n) fail("a dim of an operand is not a number");
  return n;
}

const Expr* GradientCall::fit(const Expr* partial, const Expr* operand) {
  const TensorType* from = tensor(partial);
  const TensorType* to = tensor(operand);
  if (!from || !to) return partial;
  if (from->ndim == to->ndim && prove_shapes_equal(ctx_, from->shape, to->shape)) return partial;
  return make(op::CollapseSumTo, {partial, ctx_.shape(to->shape)});
}

const Expr* GradientCall::as_dtype_of(const Expr* partial, const Expr* operand) {
  const auto* from = as<TensorType>(partial->type);
  const auto* to = as<TensorType>(operand->type);
  if (!from || !to || from->dtype == to->dtype) return partial;
  return make(op::Astype, {partial}, {named(op_attr::Dtype, ctx_.attr(to->dtype))});
}

namespace gradient_rules {

const Expr* sub(GradientCall& g, const Expr* a, const Expr* b) { return g.make(op::Subtract, {a, b}); }
const Expr* mul(GradientCall& g, const Expr* a, const Expr* b) { return g.make(op::Multiply, {a, b}); }
static const Expr* div(GradientCall& g, const Expr* a, const Expr* b) { return g.make(op::Divide, {a, b}); }
static const Expr* neg(GradientCall& g, const Expr* a) { return g.make(op::Negative, {a}); }

// Operands that differ in shape were broadcast: their gradients are summed.
static Partials fitted(GradientCall& g, const Expr* a, const Expr* b) {
  return {g.fit(a, g.arg(0)), g.fit(b, g.arg(1))};
}

Partials no_gradient(GradientCall& g) { return Partials(g.call()->args.size(), nullptr); }
Partials add_grad(GradientCall& g) { return fitted(g, g.grad(), g.grad()); }
Partials subtract_grad(GradientCall& g) { return fitted(g, g.grad(), neg(g, g.grad())); }
Partials multiply_grad(GradientCall& g) { return fitted(g, mul(g, g.grad(), g.arg(1)), mul(g, g.grad(), g.arg(0))); }
Partials divide_grad(GradientCall& g) {
  return fitted(g, div(g, g.grad(), g.arg(1)), div(g, mul(g, neg(g, g.grad()), g.result()), g.arg(1)));
}
// The second is meaningful where the base is positive.
Partials power_grad(GradientCall& g) {
  const Expr* less_one = sub(g, g.arg(1), g.scalar(1, g.arg(1)));
  const Expr* base = mul(g, mul(g, g.grad(), g.arg(1)), g.make(op::Power, {g.arg(0), less_one}));
  return fitted(g, base, mul(g, mul(g, g.grad(), g.result()), g.make(op::Log, {g.arg(0)})));
}
// The first operand receives everything where it is the result, including ties for `maximum`.
static Partials larger(GradientCall& g, std::string_view not_first, std::string_view not_second) {
  const Expr* zero = g.scalar(0, g.arg(0));
  const auto unless = [&](std::string_view relation) {
    return g.make(op::Where, {g.make(relation, {g.arg(0), g.arg(1)}), zero, g.grad()});
  };
  return fitted(g, unless(not_first), unless(not_second));
}
Partials maximum_grad(GradientCall& g) { return larger(g, op::Less, op::GreaterEqual); }
Partials minimum_grad(GradientCall& g) { return larger(g, op::GreaterEqual, op::Less); }
Partials where_grad(GradientCall& g) {
  const Expr* zero = g.scalar(0, g.grad());
  return {nullptr, g.fit(g.make(op::Where, {g.arg(0), g.grad(), zero}), g.arg(1)),
          g.fit(g.make(op::Where, {g.arg(0), zero, g.grad()}), g.arg(2))};
}

Partials passed_on(GradientCall& g) {
  Partials out = no_gradient(g);
  out[0] = g.grad();
  return out;
}
Partials fma_grad(GradientCall& g) { return {mul(g, g.grad(), g.arg(1)), mul(g, g.grad(), g.arg(0)), g.grad()}; }
// Each operand by its share in the sum of the exponentials.
Partials log_add_exp_grad(GradientCall& g) {
  const auto share = [&](std::size_t i) { return g.make(op::Exp, {sub(g, g.arg(i), g.result())}); };
  return fitted(g, mul(g, g.grad(), share(0)), mul(g, g.grad(), share(1)));
}
Partials atan2_grad(GradientCall& g) {
  const auto square = [&](std::size_t i) { return mul(g, g.arg(i), g.arg(i)); };
  const Expr* each = div(g, g.grad(), g.make(op::Add, {square(0), square(1)}));
  return fitted(g, mul(g, each, g.arg(1)), neg(g, mul(g, each, g.arg(0))));
}
// x1 less a whole number of x2.
static Partials remainder_grad(GradientCall& g, std::string_view rounding) {
  const Expr* count = g.make(rounding, {div(g, g.arg(0), g.arg(1))});
  return fitted(g, g.grad(), neg(g, mul(g, g.grad(), count)));
}
Partials floor_mod_grad(GradientCall& g) { return remainder_grad(g, op::Floor); }
Partials mod_grad(GradientCall& g) { return remainder_grad(g, op::Trunc); }

Partials abs_grad(GradientCall& g) {
  const Expr* negative = g.make(op::Less, {g.arg(0), g.scalar(0, g.arg(0))});
  return {mul(g, g.grad(), g.make(op::Where, {negative, g.scalar(-1, g.arg(0)), g.scalar(1, g.arg(0))}))};
}
Partials cos_grad(GradientCall& g) { return {mul(g, neg(g, g.grad()), g.make(op::Sin, {g.arg(0)}))}; }
Partials sin_grad(GradientCall& g) { return {mul(g, g.grad(), g.make(op::Cos, {g.arg(0)}))}; }
Partials exp_grad(GradientCall& g) { return {mul(g, g.grad(), g.result())}; }
Partials log_grad(GradientCall& g) { return {div(g, g.grad(), g.arg(0))}; }
Partials negative_grad(GradientCall& g) { return {neg(g, g.grad())}; }
Partials sigmoid_grad(GradientCall& g) {
  return {mul(g, mul(g, g.grad(), g.result()), sub(g, g.scalar(1, g.arg(0)), g.result()))};
}
Partials sqrt_grad(GradientCall& g) { return {div(g, mul(g, g.scalar(0.5, g.arg(0)), g.grad()), g.result())}; }
// -y^3 / 2
Partials rsqrt_grad(GradientCall& g) {
  const Expr* cube = mul(g, mul(g, g.result(), g.result()), g.result());
  return {mul(g, mul(g, g.scalar(-0.5, g.arg(0)), g.grad()), cube)};
}
Partials square_grad(GradientCall& g) { return {mul(g, mul(g, g.scalar(2, g.arg(0)), g.grad()), g.arg(0))}; }
Partials tanh_grad(GradientCall& g) {
  return {mul(g, g.grad(), sub(g, g.scalar(1, g.arg(0)), mul(g, g.result(), g.result())))};
}
static const Expr* one(GradientCall& g) { return g.scalar(1, g.arg(0)); }
static const Expr* squared(GradientCall& g) { return mul(g, g.arg(0), g.arg(0)); }
static const Expr* by_root_of(GradientCall& g, const Expr* e) { return mul(g, g.grad(), g.make(op::Rsqrt, {e})); }
Partials asin_grad(GradientCall& g) { return {by_root_of(g, sub(g, one(g), squared(g)))}; }
Partials acos_grad(GradientCall& g) { return {neg(g, by_root_of(g, sub(g, one(g), squared(g))))}; }
Partials asinh_grad(GradientCall& g) { return {by_root_of(g, g.make(op::Add, {squared(g), one(g)}))}; }
Partials acosh_grad(GradientCall& g) { return {by_root_of(g, sub(g, squared(g), one(g)))}; }
Partials atan_grad(GradientCall& g) { return {div(g, g.grad(), g.make(op::Add, {squared(g), one(g)}))}; }
Partials atanh_grad(GradientCall& g) { return {div(g, g.grad(), sub(g, one(g), squared(g)))}; }
Partials sinh_grad(GradientCall& g) { return {mul(g, g.grad(), g.make(op::Cosh, {g.arg(0)}))}; }
Partials cosh_grad(GradientCall& g) { return {mul(g, g.grad(), g.make(op::Sinh, {g.arg(0)}))}; }
Partials tan_grad(GradientCall& g) {
  return {mul(g, g.grad(), g.make(op::Add, {mul(g, g.result(), g.result()), one(g)}))};
}
// exp(-x^2) * 2 / sqrt(pi)
Partials erf_grad(GradientCall& g) {
  const Expr* bell = g.make(op::Exp, {neg(g, mul(g, g.arg(0), g.arg(0)))});
  return {mul(g, mul(g, g.scalar(1.1283791670955126, g.arg(0)), g.grad()), bell)};
}
Partials clip_grad(GradientCall& g) {
  const auto bound = [&](std::size_t i) -> const Expr* {
    if (const auto* f = as<FloatImm>(g.arg(i))) return g.scalar(f->value, g.arg(0));
    if (const auto* n = as<IntImm>(g.arg(i))) return g.scalar(double(n->value), g.arg(0));
    return g.fail("a bound is not a number");
  };
  const Expr* inside = g.make(
      op::LogicalAnd, {g.make(op::GreaterEqual, {g.arg(0), bound(1)}), g.make(op::LessEqual, {g.arg(0), bound(2)})});
  return {g.make(op::Where, {inside, g.grad(), g.scalar(0, g.grad())}), nullptr, nullptr};
}
Partials astype_grad(GradientCall& g) {
  const TensorType* t = g.tensor(g.arg(0));
  if (!t || !t->dtype.is_float()) return {nullptr};
  return {g.make(op::Astype, {g.grad()}, {g.named(op_attr::Dtype, g.ctx().attr(t->dtype))})};
}
Partials triangle_grad(GradientCall& g) {
  return {g.make(cast<Op>(g.call()->callee)->name, {g.grad(), g.arg(1)}), nullptr};
}

// The expression with the axes that a reduction dropped put back.
static const Expr* with_axes(GradientCall& g, const Expr* e) {
  const Attr* axis = g.attr(op_attr::Axis);
  if (is_set(g.call()->attrs, op_attr::Keepdims) || !axis || !axis->is(AttrKind::List) || axis->items.empty()) return e;
  return g.make(op::ExpandDims, {e}, {g.named(op_attr::Axis, axis)});
}
// How many elements a reduction combines into one.
static double reduced_count(GradientCall& g) {
  const TensorType* t = g.tensor(g.arg(0));
  const Attr* axis = g.attr(op_attr::Axis);
  double count = 1;
  if (axis && axis->is(AttrKind::List))
    for (const Attr* a : axis->items) count *= double(g.dim(g.arg(0), a->integer).value_or(1));
  else
    for (int i = 0; t && i < t->ndim; ++i) count *= double(g.dim(g.arg(0), i).value_or(1));
  return count;
}
Partials sum_grad(GradientCall& g) { return {g.make(op::BroadcastTo, {with_axes(g, g.grad()), g.shape(g.arg(0))})}; }
Partials mean_grad(GradientCall& g) {
  const Expr* each = div(g, g.grad(), g.scalar(reduced_count(g), g.grad()));
  return {g.make(op::BroadcastTo, {with_axes(g, each), g.shape(g.arg(0))})};
}
// 2 x / n - 2 sum(x) / n^2
Partials variance_grad(GradientCall& g) {
  const Attr* axis = g.attr(op_attr::Axis);
  const double n = reduced_count(g);
  const Expr* sum = g.make(
      op::Sum, {g.arg(0)},
      {g.named(op_attr::Axis, axis ? axis : g.ctx().attr_none()), g.named(op_attr::Keepdims, g.ctx().attr(true))});
  const Expr* each = mul(g, g.scalar(2 / n, g.arg(0)), g.arg(0));
  const Expr* common = mul(g, g.scalar(2 / n / n, g.arg(0)), sum);
  return {mul(g, with_axes(g, g.grad()), sub(g, each, common))};
}

// The sum over the reduced axes, which are kept.
static const Expr* sum_kept(GradientCall& g, const Expr* e) {
  const Attr* axis = g.attr(op_attr::Axis);
  return g.make(
      op::Sum, {e},
      {g.named(op_attr::Axis, axis ? axis : g.ctx().attr_none()), g.named(op_attr::Keepdims, g.ctx().attr(true))});
}
// (x - mean(x)) / (n std(x))
Partials std_grad(GradientCall& g) {
  const double n = reduced_count(g);
  const Expr* mean = mul(g, g.scalar(1 / n, g.arg(0)), sum_kept(g, g.arg(0)));
  const Expr* spread = mul(g, g.scalar(n, g.arg(0)), with_axes(g, g.result()));
  return {mul(g, with_axes(g, g.grad()), div(g, sub(g, g.arg(0), mean), spread))};
}
// The elements that are the result share the gradient.
Partials extreme_grad(GradientCall& g) {
  const Expr* found = g.make(op::Equal, {g.arg(0), with_axes(g, g.result())});
  const Expr* mask = g.make(op::Where, {found, g.scalar(1, g.arg(0)), g.scalar(0, g.arg(0))});
  return {mul(g, with_axes(g, g.grad()), div(g, mask, sum_kept(g, mask)))};
}
Partials broadcast_back(GradientCall& g) {
  Partials out = no_gradient(g);
  out[0] = g.make(op::BroadcastTo, {g.grad(), g.shape(g.arg(0))});
  return out;
}

Partials permute_dims_grad(GradientCall& g) {
  const Attr* axes = g.attr(op_attr::Axes);
  if (!axes || !axes->is(AttrKind::List)) return {g.make(op::PermuteDims, {g.grad()})};
  const auto n = std::int64_t(axes->items.size());
  std::vector<std::int64_t> inverse(axes->items.size());
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t a = axes->items[std::size_t(i)]->integer;
    inverse[std::size_t(a < 0 ? a + n : a)] = i;
  }
  return {g.make(op::PermuteDims, {g.grad()}, {g.named(op_attr::Axes, g.ctx().attr_ints(inverse))})};
}
Partials concat_grad(GradientCall& g) {
  const auto* parts = as<TupleType>(g.arg(0)->type);
  const Attr* axis = g.attr(op_attr::Axis);
  if (!parts || !axis || !axis->is(AttrKind::Int)) return {g.fail("its operand is not known to be a tuple")};
  std::vector<std::int64_t> ends;
  std::int64_t end = 0;
  for (std::size_t i = 0; i + 1 < parts->fields.size(); ++i) {
    const auto* t = as<TensorType>(parts->fields[i]);
    const std::int64_t at = t && axis->integer < 0 ? axis->integer + t->ndim : axis->integer;
    const auto n = t && t->has_shape ? const_int(t->shape[std::size_t(at)]) : std::nullopt;
    if (!n) return {g.fail("a dim of an operand is not a number")};
    ends.push_back(end += *n);
  }
  return {g.make(op::Split, {g.grad()},
                 {g.named(op_attr::IndicesOrSections, g.ctx().attr_ints(ends)), g.named(op_attr::Axis, axis)})};
}
Partials split_grad(GradientCall& g) {
  return {g.make(op::Concat, {g.grad()}, {g.named(op_attr::Axis, g.attr(op_attr::Axis))})};
}
Partials stack_grad(GradientCall& g) {
  const auto* parts = as<TupleType>(g.arg(0)->type);
  const Attr* axis = g.attr(op_attr::Axis);
  if (!parts || !axis || !axis->is(AttrKind::Int)) return {g.fail("its operand is not known to be a tuple")};
  Context& ctx = g.ctx();
  const std::int64_t axes[] = {axis->integer};
  const Expr* slices = g.make(op::Split, {g.grad()},
                              {g.named(op_attr::IndicesOrSections, ctx.attr(std::int64_t(parts->fields.size()))),
                               g.named(op_attr::Axis, axis)});
  if (!as<TupleType>(slices->type)) return {slices};
  std::vector<const Expr*> each;
  for (std::size_t i = 0; i < parts->fields.size(); ++i)
    each.push_back(
        g.make(op::Squeeze, {*ctx.tuple_get(slices, std::int64_t(i))}, {g.named(op_attr::Axis, ctx.attr_ints(axes))}));
  return {ctx.tuple(each)};
}
Partials flip_grad(GradientCall& g) { return {g.make_like(op::Flip, {g.grad()})}; }
Partials reverse_sequence_grad(GradientCall& g) {
  return {g.make_like(op::ReverseSequence, {g.grad(), g.arg(1)}), nullptr};
}
// The first result is the operand, the second a mask that does not depend on it.
Partials dropout_grad(GradientCall& g) { return {*g.ctx().tuple_get(g.grad(), 0)}; }
Partials gather_elements_grad(GradientCall& g) {
  const Expr* zeros = g.make(op::ZerosLike, {g.arg(0)});
  const Expr* added =
      g.make(op::ScatterElements, {zeros, g.arg(1), g.grad()},
             {g.named(op_attr::Axis, g.attr(op_attr::Axis)), g.named(op_attr::Reduction, g.ctx().attr("add"))});
  return {added, nullptr};
}
Partials outer_grad(GradientCall& g) {
  return {g.make(op::Matmul, {g.grad(), g.arg(1)}), g.make(op::Matmul, {g.arg(0), g.grad()})};
}
Partials reshaped(GradientCall& g) {
  Partials out = no_gradient(g);
  out[0] = g.make(op::Reshape, {g.grad(), g.shape(g.arg(0))});
  return out;
}
Partials expand_dims_grad(GradientCall& g) {
  return {g.make(op::Squeeze, {g.grad()}, {g.named(op_attr::Axis, g.attr(op_attr::Axis))})};
}
// Each element reaches the sums from its own on: the whole, less the sums before it. An exclusive sum leaves out its
// own.
Partials cumsum_grad(GradientCall& g) {
  const Attr* axis = g.attr(op_attr::Axis);
  const bool flat = !axis || !axis->is(AttrKind::Int);
  const Attr* along = flat ? g.ctx().attr_none() : g.ctx().attr_ints(std::vector<std::int64_t>{axis->integer});
  const Expr* all =
      g.make(op::Sum, {g.grad()}, {g.named(op_attr::Axis, along), g.named(op_attr::Keepdims, g.ctx().attr(true))});
  const Expr* before =
      flat ? g.make(op::Cumsum, {g.grad()}) : g.make(op::Cumsum, {g.grad()}, {g.named(op_attr::Axis, axis)});
  const Expr* made = sub(g, all, before);
  if (!is_set(g.call()->attrs, op_attr::Exclusive))
    made = g.make(op::Add, {made, flat ? g.make(op::Flatten, {g.grad()}) : g.grad()});
  if (flat) made = g.make(op::Reshape, {made, g.shape(g.arg(0))});
  return {g.as_dtype_of(made, g.arg(0))};
}
Partials broadcast_to_grad(GradientCall& g) {
  return {g.make(op::CollapseSumTo, {g.grad(), g.shape(g.arg(0))}), nullptr};
}
// An index that is a scalar, as a tensor of rank 0.
static const Expr* index_tensor(GradientCall& g, const Expr* index) {
  if (!as<PrimType>(index->type)) return index;
  Context& ctx = g.ctx();
  const Expr* dims[] = {cast_to(ctx, DType::Int(64), index)};
  return g.make(op::Reshape, {g.make(op::ShapeToTensor, {ctx.shape(dims)}), ctx.shape({})});
}
Partials take_grad(GradientCall& g) {
  return {g.make_like(op::GradTakeBackward, {g.grad(), g.arg(0), index_tensor(g, g.arg(1))}), nullptr};
}

static const Expr* transposed(GradientCall& g, const Expr* e) {
  const TensorType* t = g.tensor(e);
  if (!t) return e;
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i + 2 < t->ndim; ++i) axes.push_back(i);
  axes.push_back(t->ndim - 1);
  axes.push_back(t->ndim - 2);
  return g.make(op::PermuteDims, {e}, {g.named(op_attr::Axes, g.ctx().attr_ints(axes))});
}
static const Expr* with_axis(GradientCall& g, const Expr* e, std::int64_t axis) {
  const std::int64_t axes[] = {axis};
  return g.make(op::ExpandDims, {e}, {g.named(op_attr::Axis, g.ctx().attr_ints(axes))});
}
Partials matmul_grad(GradientCall& g) {
  const TensorType* a = g.tensor(g.arg(0));
  const TensorType* b = g.tensor(g.arg(1));
  if (!a || !b) return no_gradient(g);
  const auto product = [&](const Expr* x, const Expr* y) { return g.make_like(op::Matmul, {x, y}); };
  if (a->ndim == 1 && b->ndim == 1) return {mul(g, g.grad(), g.arg(1)), mul(g, g.grad(), g.arg(0))};
  if (a->ndim == 1) {
    const Expr* row = with_axis(g, g.grad(), -2);
    return fitted(g, product(row, transposed(g, g.arg(1))), product(with_axis(g, g.arg(0), 1), row));
  }
  if (b->ndim == 1) {
    const Expr* column = with_axis(g, g.grad(), -1);
    const std::int64_t last[] = {-1};
    const Expr* right = g.make(op::Squeeze, {product(transposed(g, g.arg(0)), column)},
                               {g.named(op_attr::Axis, g.ctx().attr_ints(last))});
    return fitted(g, product(column, with_axis(g, g.arg(1), 0)), right);
  }
  return fitted(g, product(g.grad(), transposed(g, g.arg(1))), product(transposed(g, g.arg(0)), g.grad()));
}

}  // namespace gradient_rules

GradientRule gradient_rule(std::string_view op) {
  static constexpr op::RuleTable<GradientRule> kRules{op::Column::Gradient,
                                                      {
#define RLDB_OP_GRADIENT(Op, function) {op::Id::Op, gradient_rules::function},
#include "rldb/ir/op/rule.def"
                                                      },
                                                      {
#define RLDB_OP_CLASS(id, infer, shard, layout, gradient_fn, legalise, mixed, in_place, pattern, doc) \
  {op::Class::id, op::is_rule(#gradient_fn) ? gradient_rules::gradient_fn : nullptr},
#include "rldb/ir/op/class.def"
                                                      }};
  return kRules.find(op);
}

}  // namespace rldb::passes
