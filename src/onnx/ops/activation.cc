// Activations.
#include "rldb/ir/op/activation.h"

#include <fmt/format.h>

#include "onnx/ops/chain.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"

namespace rldb::onnx::bodies {

namespace {

// Before opset 13 the axes from `axis` on were one; now it is that axis alone. `make` gets the tensor and its axis.
template <class F>
Made along_axis(NodeContext& c, F&& make) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Dims from = m.dims(x);
  if (c.opset >= 13) return m.done(make(m, x, m.axis(c.integer(key::Axis, -1), x)));
  const std::size_t axis = m.axis(c.integer(key::Axis, 1), x);
  const Dims before(from.begin(), from.begin() + std::ptrdiff_t(axis)),
      after(from.begin() + std::ptrdiff_t(axis), from.end());
  const Expr* rows = m.reshape(x, {ir::product(c.ctx, before), ir::product(c.ctx, after)});
  return m.done(m.reshape(make(m, rows, std::size_t(1)), from));
}

const Expr* axis_op(Chain& m, std::string_view op, const Expr* x, std::size_t axis) {
  return m.op(op, {x}, {{op_attr::Axis, m.ctx.attr(std::int64_t(axis))}});
}

const Expr* below_zero(Chain& m, const Expr* x) { return m.each(op::Less, x, m.lit(x, 0)); }

// log(1 + exp(x)), without overflow.
const Expr* softplus_of(Chain& m, const Expr* x) {
  const Expr* small = m.exp(m.unary(op::Negative, m.unary(op::Abs, x)));
  return m.add(m.at_least(x, m.lit(x, 0)), m.unary(op::Log, m.add(small, 1)));
}

// exp(x) - 1 where x is negative, otherwise 0.
const Expr* negative_exp(Chain& m, const Expr* x) { return m.add(m.exp(m.at_most(x, m.lit(x, 0))), -1); }

}  // namespace

Made softmax(NodeContext& c) {
  return along_axis(c, [&](Chain& m, const Expr* x, std::size_t axis) { return axis_op(m, c.target, x, axis); });
}

// 1 at the first largest element of each row, otherwise 0.
Made hardmax(NodeContext& c) {
  return along_axis(c, [](Chain& m, const Expr* x, std::size_t axis) -> const Expr* {
    const Dims dims = m.dims(x);
    if (!m.good()) return nullptr;
    const Expr* largest =
        m.op(op::Argmax, {x}, {{op_attr::Axis, m.ctx.attr(std::int64_t(axis))}, {op_attr::Keepdims, m.ctx.attr(true)}});
    const Expr* places = m.positions(dims[axis], axis, dims.size());
    return m.cast(m.each(op::Equal, m.cast(largest, DType::Int(64)), places), m.dtype(x));
  });
}

Made leaky_relu(NodeContext& c) {
  Chain m(c);
  return m.done(m.op(op::NnLeakyrelu, {m.in(0)}, {{op_attr::Alpha, c.ctx.attr(c.real(key::Alpha, 0.01))}}));
}

Made elu(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  return m.done(m.where(below_zero(m, x), m.mul(negative_exp(m, x), c.real(key::Alpha, 1)), x));
}

Made celu(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const double alpha = c.real(key::Alpha, 1);
  const Expr* part = m.mul(x, 1 / alpha);
  // With a negative `alpha` the power of what is below zero is above one.
  const Expr* below = m.mul(alpha < 0 ? m.add(m.exp(part), -1) : negative_exp(m, part), alpha);
  return m.done(m.where(below_zero(m, x), below, x));
}

Made selu(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const double alpha = c.real(key::Alpha, c.opset < 6 ? 1.6732 : 1.67326319217681884765625),
               gamma = c.real(key::Gamma, c.opset < 6 ? 1.0507 : 1.05070102214813232421875);
  return m.done(m.where(below_zero(m, x), m.mul(negative_exp(m, x), alpha * gamma), m.mul(x, gamma)));
}

// The slope has any shape that broadcasts; before opset 7 a vector was that of the channels.
Made prelu(NodeContext& c) {
  Chain m(c);
  const Expr *x = m.in(0), *slope = m.in(1);
  const std::size_t rank = m.rank(x);
  if (c.opset < 7 && m.rank(slope) == 1 && rank > 2) slope = m.expand(slope, iota(1, std::int64_t(rank) - 1));
  return m.done(m.where(below_zero(m, x), m.mul(x, slope), x));
}

Made thresholded_relu(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  return m.done(m.where(m.each(op::Greater, x, m.lit(x, c.real(key::Alpha, 1))), x, m.lit(x, 0)));
}

Made hard_sigmoid(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Expr* line = m.add(m.mul(x, c.real(key::Alpha, 0.2)), c.real(key::Beta, 0.5));
  return m.done(m.clamp(line, m.lit(x, 0), m.lit(x, 1)));
}

Made hard_swish(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Expr* line = m.add(m.mul(x, 1.0 / 6), 0.5);
  return m.done(m.mul(x, m.clamp(line, m.lit(x, 0), m.lit(x, 1))));
}

Made softplus(NodeContext& c) {
  Chain m(c);
  return m.done(softplus_of(m, m.in(0)));
}

Made softsign(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  return m.done(m.div(x, m.add(m.unary(op::Abs, x), 1)));
}

Made mish(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  return m.done(m.mul(x, m.unary(op::Tanh, softplus_of(m, x))));
}

Made gelu(NodeContext& c) {
  Chain m(c);
  RLDB_TRY(const std::string how, c.word(key::Approximate, "none", {"none", "tanh"}));
  return m.done(m.unary(how == "tanh" ? op::NnGeluTanh : op::NnGelu, m.in(0)));
}

// Of com.microsoft: a bias is added first.
Made bias_gelu(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  return m.done(m.unary(c.target, c.has(1) ? m.add(x, m.in(1)) : x));
}

Made shrink(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const double lambd = c.real(key::Lambd, 0.5), bias = c.real(key::Bias, 0);
  const DType t = m.dtype(x);
  // Integers are compared and moved as numbers: the limits may lie between two of them, or be negative.
  const Expr* real = t.is_float() ? x : m.cast(x, DType::Float(64));
  const Expr* upper = m.where(m.each(op::Greater, real, m.lit(real, lambd)), m.add(real, -bias), m.lit(real, 0));
  return m.done(m.cast(m.where(m.each(op::Less, real, m.lit(real, -lambd)), m.add(real, bias), upper), t));
}

}  // namespace rldb::onnx::bodies
