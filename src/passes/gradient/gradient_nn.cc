// Gradients of neural-network operators. Normalisations are differentiated after DecomposeOpsForTraining.
#include "passes/gradient/gradient_rules.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/conv.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/dtype.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/grad.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_attr/window_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::passes {

using namespace ir;

namespace gradient_rules {

static const Expr* sum_along(GradientCall& g, const Expr* e) {
  const Attr* axis = g.attr(op_attr::Axis);
  const std::int64_t axes[] = {axis ? axis->integer : -1};
  return g.make(op::Sum, {e},
                {g.named(op_attr::Axis, g.ctx().attr_ints(axes)), g.named(op_attr::Keepdims, g.ctx().attr(true))});
}

static double real(GradientCall& g, std::string_view name) {
  const Attr* a = g.attr(name);
  return !a ? 0 : a->is(AttrKind::Float) ? a->floating : double(a->integer);
}

// The gradient where x is positive, `slope` times it elsewhere.
static Partials above_zero(GradientCall& g, double slope) {
  const Expr* negative = g.make(op::Less, {g.arg(0), g.scalar(0, g.arg(0))});
  return {mul(g, g.make(op::Where, {negative, g.scalar(slope, g.arg(0)), g.scalar(1, g.arg(0))}), g.grad())};
}
Partials relu_grad(GradientCall& g) {
  const Expr* zero = g.scalar(0, g.arg(0));
  return {g.make(op::Where, {g.make(op::Less, {g.arg(0), zero}), zero, g.grad()})};
}
Partials leakyrelu_grad(GradientCall& g) { return above_zero(g, real(g, op_attr::Alpha)); }

Partials relu6_grad(GradientCall& g) {
  const Expr* zero = g.scalar(0, g.arg(0));
  const Expr* inside = g.make(op::LogicalAnd, {g.make(op::GreaterEqual, {g.arg(0), zero}),
                                               g.make(op::LessEqual, {g.arg(0), g.scalar(6, g.arg(0))})});
  return {g.make(op::Where, {inside, g.grad(), zero})};
}
Partials selu_grad(GradientCall& g) {
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  const Expr* x = g.arg(0);
  const Expr* below = mul(g, g.scalar(kAlpha * kScale, x), g.make(op::Exp, {x}));
  const Expr* negative = g.make(op::Less, {x, g.scalar(0, x)});
  return {mul(g, g.grad(), g.make(op::Where, {negative, below, g.scalar(kScale, x)}))};
}
// Above the threshold the operator is the identity.
Partials softplus_grad(GradientCall& g) {
  const Expr* x = g.arg(0);
  const Expr* scaled = mul(g, x, g.scalar(real(g, op_attr::Beta), x));
  const Expr* large = g.make(op::Greater, {scaled, g.scalar(real(g, op_attr::Threshold), x)});
  return {mul(g, g.grad(), g.make(op::Where, {large, g.scalar(1, x), g.make(op::Sigmoid, {scaled})}))};
}
// The slopes get the sums of their channels.
Partials prelu_grad(GradientCall& g) {
  const TensorType *t = g.tensor(g.arg(0)), *slopes = g.tensor(g.arg(1));
  if (!t || !slopes) return {nullptr, nullptr};
  Context& ctx = g.ctx();
  std::vector<const Expr*> dims(std::size_t(t->ndim), ctx.i64(1));
  const std::int64_t axis = g.attr(op_attr::Axis)->integer;
  dims[std::size_t(axis < 0 ? axis + t->ndim : axis)] = slopes->shape[0];
  const Expr* aligned = g.make(op::Reshape, {g.arg(1), ctx.shape(dims)});
  const Expr* zero = g.scalar(0, g.arg(0));
  const Expr* negative = g.make(op::Less, {g.arg(0), zero});
  const Expr* by_slopes = g.make(op::Where, {negative, mul(g, g.arg(0), g.grad()), zero});
  by_slopes = g.make(op::CollapseSumTo, {by_slopes, ctx.shape(dims)});
  return {g.make(op::Where, {negative, mul(g, aligned, g.grad()), g.grad()}),
          g.make(op::Reshape, {by_slopes, ctx.shape(slopes->shape)})};
}

Partials silu_grad(GradientCall& g) {
  const Expr* sigmoid = g.make(op::Sigmoid, {g.arg(0)});
  const Expr* rest = mul(g, g.result(), sub(g, g.scalar(1, g.arg(0)), sigmoid));
  return {mul(g, g.grad(), g.make(op::Add, {sigmoid, rest}))};
}

// Phi(x) + x phi(x), for the normal distribution.
Partials gelu_grad(GradientCall& g) {
  const Expr* x = g.arg(0);
  const Expr* erf = g.make(op::Erf, {mul(g, x, g.scalar(0.7071067811865476, x))});
  const Expr* phi = mul(g, g.make(op::Add, {erf, g.scalar(1, x)}), g.scalar(0.5, x));
  const Expr* bell = g.make(op::Exp, {mul(g, mul(g, x, x), g.scalar(-0.5, x))});
  const Expr* slope = mul(g, mul(g, x, bell), g.scalar(0.3989422804014327, x));
  return {mul(g, g.grad(), g.make(op::Add, {phi, slope}))};
}

// y = x / 2 (1 + tanh(u)), u = k x (1 + c x^2)
Partials gelu_tanh_grad(GradientCall& g) {
  constexpr double kFactor = 0.7978845608028654, kCubic = 0.044715;
  const Expr* x = g.arg(0);
  const auto number = [&](double v) { return g.scalar(v, x); };
  const auto add = [&](const Expr* a, const Expr* b) { return g.make(op::Add, {a, b}); };
  const Expr* square = mul(g, x, x);
  const Expr* u = mul(g, mul(g, number(kFactor), x), add(number(1), mul(g, number(kCubic), square)));
  const Expr* tanh = g.make(op::Tanh, {u});
  const Expr* inner = mul(g, number(kFactor), add(number(1), mul(g, number(3 * kCubic), square)));
  const Expr* slope = mul(g, mul(g, x, sub(g, number(1), mul(g, tanh, tanh))), inner);
  return {mul(g, g.grad(), mul(g, number(0.5), add(add(number(1), tanh), slope)))};
}

Partials softmax_grad(GradientCall& g) {
  const Expr* common = sum_along(g, mul(g, g.grad(), g.result()));
  return {mul(g, sub(g, g.grad(), common), g.result())};
}
Partials log_softmax_grad(GradientCall& g) {
  const Expr* common = mul(g, sum_along(g, g.grad()), g.make(op::Exp, {g.result()}));
  return {sub(g, g.grad(), common)};
}

// -sum(predictions * labels) over the batch, if there is one.
Partials cross_entropy_grad(GradientCall& g) {
  const TensorType* t = g.tensor(g.arg(0));
  const Expr* each = g.grad();
  if (t && t->ndim > 1) each = g.make(op::Divide, {each, g.scalar(double(g.dim(g.arg(0), 0).value_or(1)), each)});
  each = g.make(op::Negative, {each});
  return {mul(g, each, g.arg(1)), mul(g, each, g.arg(0))};
}
// By the weights of nll_loss: for each class what its predictions contribute; with the reduction "mean" the sum of the
// weights, which is divided by, has a gradient too.
static const Expr* by_class_weights(GradientCall& g) {
  Context& ctx = g.ctx();
  const TensorType *p = g.tensor(g.arg(0)), *targets = g.tensor(g.arg(1));
  if (!p || !targets) return g.grad();
  const std::size_t axis = p->ndim > 1 ? 1 : 0;
  std::vector<const Expr*> aligned(std::size_t(p->ndim), ctx.i64(1));
  aligned[axis] = p->shape[axis];
  const auto row = [&](const Expr* e) { return g.make(op::Reshape, {e, ctx.shape(aligned)}); };
  const auto column = [&](const Expr* e) {
    const std::int64_t at[] = {std::int64_t(axis)};
    return g.make(op::ExpandDims, {e}, {g.named(op_attr::Axis, ctx.attr_ints(at))});
  };
  const auto total = [&](const Expr* e) {
    std::vector<std::int64_t> axes;
    for (std::int64_t i = 0; i < p->ndim; ++i)
      if (i != std::int64_t(axis)) axes.push_back(i);
    if (axes.empty()) return e;
    return g.make(op::Sum, {e},
                  {g.named(op_attr::Axis, ctx.attr_ints(axes)), g.named(op_attr::Keepdims, ctx.attr(false))});
  };
  const Expr* classes = row(g.make(op::Arange, {ctx.i64(0), p->shape[axis], ctx.i64(1)},
                                   {g.named(op_attr::Dtype, ctx.attr(targets->dtype))}));
  const Expr* is_target = g.make(op::Equal, {column(g.arg(1)), classes});
  const Attr* ignored = g.attr(op_attr::IgnoreIndex);
  if (ignored && ignored->integer >= 0)
    is_target = g.make(op::LogicalAnd,
                       {is_target, g.make(op::NotEqual, {classes, g.scalar(double(ignored->integer), g.arg(1))})});
  const Expr* hits = g.make(op::Astype, {is_target}, {g.named(op_attr::Dtype, ctx.attr(p->dtype))});
  const Expr* loss = g.make(op::Negative, {mul(g, hits, g.arg(0))});
  const std::string_view reduction = g.attr(op_attr::Reduction)->string;
  if (reduction == "none") return total(mul(g, loss, column(g.grad())));
  if (reduction == "sum") return mul(g, total(loss), g.grad());
  const Expr* counts = total(hits);
  const Expr* weight = g.make(op::Sum, {mul(g, g.arg(2), counts)});
  const Expr* change = sub(g, total(loss), mul(g, g.result(), counts));
  return mul(g, g.make(op::Divide, {change, weight}), g.grad());
}

Partials nll_loss_grad(GradientCall& g) {
  if (g.call()->args.size() < 3) return {g.make_like(op::GradNllLossBackward, {g.grad(), g.arg(0), g.arg(1)}), nullptr};
  return {g.make_like(op::GradNllLossBackward, {g.grad(), g.arg(0), g.arg(1), g.arg(2)}), nullptr, by_class_weights(g)};
}

Partials max_pool2d_grad(GradientCall& g) { return {g.make_like(op::GradMaxPool2dBackward, {g.grad(), g.arg(0)})}; }
Partials avg_pool2d_grad(GradientCall& g) { return {g.make_like(op::GradAvgPool2dBackward, {g.grad(), g.arg(0)})}; }

// One of the two dims of the convolution's window.
struct Window {
  std::int64_t data, kernel, out, stride, dilation, before, after;
  // The padding that the transposed convolution needs at the end.
  std::int64_t missing() const { return data - ((out - 1) * stride - before - after + dilation * (kernel - 1) + 1); }
};

std::int64_t item(GradientCall& g, std::string_view name, std::size_t i) {
  const Attr* a = g.attr(name);
  return a && a->is(AttrKind::List) && i < a->items.size() ? a->items[i]->integer : 0;
}

Window window_along(GradientCall& g, std::size_t i) {
  const auto axis = std::int64_t(i + 2);
  return {g.dim(g.arg(0), axis).value_or(1), g.dim(g.arg(1), axis).value_or(1), g.dim(g.grad(), axis).value_or(1),
          item(g, op_attr::Strides, i),      item(g, op_attr::Dilation, i),     item(g, op_attr::Padding, i),
          item(g, op_attr::Padding, i + 2)};
}

// The groups of channels in the place of the batch: the convolution that gives the weights runs over them side by side.
static const Expr* grouped(GradientCall& g, std::int64_t groups) {
  Context& ctx = g.ctx();
  const TensorType* t = g.tensor(g.arg(0));
  if (!t) return g.arg(0);
  const Expr* each = ctx.i64(g.dim(g.arg(0), 1).value_or(groups) / groups);
  const Expr* apart[] = {t->shape[0], ctx.i64(groups), each, t->shape[2], t->shape[3]};
  const Expr* together[] = {Analyzer(ctx).simplify(ir::mul(ctx, t->shape[0], ctx.i64(groups))), each, t->shape[2],
                            t->shape[3]};
  const std::int64_t order[] = {1, 0, 2, 3, 4};
  const Expr* e = g.make(op::Reshape, {g.arg(0), ctx.shape(apart)});
  e = g.make(op::PermuteDims, {e}, {g.named(op_attr::Axes, ctx.attr_ints(order))});
  return g.make(op::Reshape, {e, ctx.shape(together)});
}

// By the weights: the convolution of the data with what reaches the result, where batch and channels change places and
// strides and dilation do too.
static const Expr* by_weights(GradientCall& g, std::int64_t groups, const Window (&w)[2]) {
  Context& ctx = g.ctx();
  const Expr* made =
      g.make(op::NnConv2d, {groups == 1 ? g.arg(0) : grouped(g, groups), g.grad()},
             {g.named(op_attr::Strides, g.attr(op_attr::Dilation)), g.named(op_attr::Padding, g.attr(op_attr::Padding)),
              g.named(op_attr::Dilation, g.attr(op_attr::Strides)), g.named(op_attr::Groups, g.attr(op_attr::Groups)),
              g.named(op_attr::DataLayout, ctx.attr("CNHW")), g.named(op_attr::KernelLayout, ctx.attr("IOHW")),
              g.named(op_attr::OutLayout, ctx.attr("CNHW")), g.named(op_attr::OutDtype, g.attr(op_attr::OutDtype))});
  if (g.dim(made, 2) == w[0].kernel && g.dim(made, 3) == w[1].kernel) return made;
  const TensorType* weights = g.tensor(g.arg(1));
  if (!weights) return made;
  std::vector<const Expr*> axes, begin;
  for (std::int64_t i = 0; i < 4; ++i) {
    axes.push_back(ctx.i64(i));
    begin.push_back(ctx.i64(0));
  }
  return g.make(op::StridedSlice, {made, ctx.tuple(axes), ctx.tuple(begin), ctx.tuple(weights->shape)});
}

// By the data: the transposed convolution.
Partials conv2d_grad(GradientCall& g) {
  const auto is = [&](std::string_view name, std::string_view wanted) {
    const Attr* a = g.attr(name);
    return !a || !a->is(AttrKind::String) || a->string == wanted;
  };
  if (!is(op_attr::DataLayout, "NCHW") || !is(op_attr::KernelLayout, "OIHW") || !is(op_attr::OutLayout, "NCHW"))
    return {g.fail("only the layouts NCHW and OIHW have one"), nullptr};
  const Window w[] = {window_along(g, 0), window_along(g, 1)};
  const std::int64_t missing[] = {w[0].missing(), w[1].missing()};
  const Expr* by_data =
      g.make(op::NnConv2dTranspose, {g.grad(), g.arg(1)},
             {g.named(op_attr::Strides, g.attr(op_attr::Strides)), g.named(op_attr::Padding, g.attr(op_attr::Padding)),
              g.named(op_attr::OutputPadding, g.ctx().attr_ints(missing)),
              g.named(op_attr::Dilation, g.attr(op_attr::Dilation)), g.named(op_attr::Groups, g.attr(op_attr::Groups)),
              g.named(op_attr::OutDtype, g.attr(op_attr::OutDtype))});
  const std::int64_t groups = g.attr(op_attr::Groups)->integer;
  return {g.as_dtype_of(by_data, g.arg(0)), g.as_dtype_of(by_weights(g, groups, w), g.arg(1))};
}

}  // namespace gradient_rules
}  // namespace rldb::passes
