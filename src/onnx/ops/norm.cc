// Normalisations.
#include <fmt/format.h>

#include "onnx/ops/conv.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_attr/window_attr.h"

namespace rldb::onnx::bodies {

namespace {

constexpr double kEpsilon = 1e-5;

struct Moments {
  const Expr *mean, *variance;
};
// Over the axes, which stay as dims of 1.
Moments moments(Chain& m, const Expr* x, const Ints& axes) {
  const Expr* mean = m.reduce(op::Mean, x, axes, true);
  const Expr* off = m.sub(x, mean);
  return {mean, m.reduce(op::Mean, m.mul(off, off), axes, true)};
}

const Expr* inverse_root(Chain& m, const Expr* variance, double epsilon) {
  return m.unary(op::Rsqrt, m.add(variance, epsilon));
}

Ints axes_but_channels(std::size_t rank) {
  Ints axes = iota(2, std::int64_t(rank));
  axes.insert(axes.begin(), 0);
  return axes;
}

// (Y, running mean, running variance): the batch's own statistics normalise, and move the running ones.
Made trained_batch_norm(NodeContext& c, Chain& m, const Expr* x) {
  const std::size_t rank = m.rank(x);
  const DType t = m.dtype(m.in(3));
  const Moments batch = moments(m, m.cast(x, t), axes_but_channels(rank));
  const double keep = c.real(key::Momentum, 0.9);
  const Expr* scaled =
      m.mul(m.mul(m.sub(m.cast(x, t), batch.mean), inverse_root(m, batch.variance, c.real(key::Epsilon, kEpsilon))),
            per_channel(m, m.cast(m.in(1), t), rank));
  const Expr* made = m.cast(m.add(scaled, per_channel(m, m.cast(m.in(2), t), rank)), m.dtype(x));
  const auto moved = [&](std::size_t operand, const Expr* now) {
    const Expr* old = m.in(operand);
    return m.add(m.mul(old, keep), m.mul(m.reshape(now, m.dims(old)), 1 - keep));
  };
  const Expr *mean = moved(3, batch.mean), *variance = moved(4, batch.variance);
  if (!m.good()) return m.done(nullptr);
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{made, mean, variance}));
}

}  // namespace

namespace {

// Before opset 9 the statistics may be of each element, not of each channel.
Made norm_of_elements(NodeContext& c, Chain& m, const Expr* x) {
  const Expr* deviation = m.sqrt(m.add(m.in(4), c.real(key::Epsilon, kEpsilon)));
  return m.done(m.add(m.mul(m.div(m.sub(x, m.in(3)), deviation), m.in(1)), m.in(2)));
}

}  // namespace

Made batch_norm(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  if (c.integer(key::TrainingMode, 0) != 0) return trained_batch_norm(c, m, x);
  if (c.opset < 9 && c.integer(key::Spatial, 1) == 0) return norm_of_elements(c, m, x);
  const DType t = m.dtype(x);
  // The statistics may be more precise than the data.
  const Expr* all =
      m.op(op::NnBatchNorm, {x, m.cast(m.in(1), t), m.cast(m.in(2), t), m.cast(m.in(3), t), m.cast(m.in(4), t)},
           {{op_attr::Axis, c.ctx.attr(1)},
            {op_attr::Epsilon, c.ctx.attr(c.real(key::Epsilon, kEpsilon))},
            {op_attr::Training, c.ctx.attr(false)}});
  if (!m.good()) return m.done(nullptr);
  RLDB_TRY(const ir::TupleGetItem* made, c.ctx.tuple_get(all, 0));
  return c.bind(made);
}

Made instance_norm(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  return m.done(m.op(op::NnInstanceNorm, {x, m.in(1), m.in(2)},
                     {{op_attr::ChannelAxis, c.ctx.attr(1)},
                      {op_attr::Axes, c.ints_attr(iota(2, std::int64_t(m.rank(x))))},
                      {op_attr::Epsilon, c.ctx.attr(c.real(key::Epsilon, kEpsilon))}}));
}

// (Y, mean, 1 / standard deviation) over the axes from `axis` on.
Made layer_norm(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const auto axis = std::int64_t(m.axis(c.integer(key::Axis, -1), x));
  const Ints axes = iota(axis, std::int64_t(m.rank(x)));
  const double epsilon = c.real(key::Epsilon, kEpsilon);
  const Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  const Dims inner(dims.begin() + axis, dims.end());
  const Expr* scale = m.broadcast_to(m.in(1), inner);
  const Expr* bias = c.has(2) ? m.broadcast_to(m.in(2), inner) : m.full(inner, m.dtype(x), 0);
  const Expr* made = m.op(op::NnLayerNorm, {x, scale, bias},
                          {{op_attr::Axes, c.ints_attr(axes)}, {op_attr::Epsilon, c.ctx.attr(epsilon)}});
  if (!c.wants(1) && !c.wants(2)) return m.done(made);
  const Moments all = moments(m, m.cast(x, DType::Float(32)), axes);
  const Expr* inverse = inverse_root(m, all.variance, epsilon);
  if (!m.good()) return m.done(nullptr);
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{made, all.mean, inverse}));
}

Made rms_norm(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const auto axis = std::int64_t(m.axis(c.integer(key::Axis, -1), x));
  return m.done(m.op(op::NnRmsNorm, {x, m.in(1)},
                     {{op_attr::Axes, c.ints_attr(iota(axis, std::int64_t(m.rank(x))))},
                      {op_attr::Epsilon, c.ctx.attr(c.real(key::Epsilon, kEpsilon))}}));
}

// Before opset 21 scale and bias are those of groups.
Made group_norm(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t rank = m.rank(x);
  const std::int64_t groups = c.integer(key::NumGroups, 1), channels = m.size(x, 1);
  if (!m.good()) return m.done(nullptr);
  if (groups < 1 || channels % groups != 0) return refuse("its channels are not a multiple of its groups");
  const auto of_channels = [&](const Expr* v) {
    if (c.opset >= 21) return v;
    const Dims wide{c.i64(groups), c.i64(channels / groups)};
    return m.reshape(m.broadcast_to(m.expand(v, {1}), wide), {c.i64(channels)});
  };
  return m.done(m.op(op::NnGroupNorm, {x, of_channels(m.in(1)), of_channels(m.in(2))},
                     {{op_attr::NumGroups, c.ctx.attr(groups)},
                      {op_attr::ChannelAxis, c.ctx.attr(1)},
                      {op_attr::Axes, c.ints_attr(iota(2, std::int64_t(rank)))},
                      {op_attr::Epsilon, c.ctx.attr(c.real(key::Epsilon, kEpsilon))}}));
}

// The mean of squares over neighbouring channels: an average pooling along them.
Made local_response_norm(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Dims dims = m.dims(x);
  const std::int64_t size = c.integer(key::Size, 1);
  if (!m.good() || dims.size() < 2 || size < 1) return m.done(m.fail("its data has no channels"));
  const Dims rest(dims.begin() + 2, dims.end());
  const Expr* planes = m.reshape(m.mul(x, x), {dims[0], c.i64(1), dims[1], ir::product(c.ctx, rest)});
  const Expr* mean = m.op(op::NnAvgPool2d, {planes},
                          {{op_attr::PoolSize, c.ints_attr({size, 1})},
                           {op_attr::Padding, c.ints_attr({(size - 1) / 2, 0, size - 1 - (size - 1) / 2, 0})},
                           {op_attr::CountIncludePad, c.ctx.attr(true)}});
  const Expr* base = m.add(m.mul(m.reshape(mean, dims), c.real(key::Alpha, 1e-4)), c.real(key::Bias, 1));
  return m.done(m.div(x, m.each(op::Power, base, m.lit(x, c.real(key::Beta, 0.75)))));
}

Made lp_norm(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Ints axes{std::int64_t(m.axis(c.integer(key::Axis, -1), x))};
  RLDB_TRY(const std::int64_t order, c.choice(key::P, 2, {1, 2}));
  const bool first = order == 1;
  const Expr* sum = m.reduce(op::Sum, first ? m.unary(op::Abs, x) : m.mul(x, x), axes, true);
  // Zeros stay zeros.
  const Expr* norm = first ? sum : m.sqrt(sum);
  return m.done(m.div(x, m.where(m.each(op::Equal, norm, m.lit(x, 0)), m.lit(x, 1), norm)));
}

Made mean_variance_norm(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Ints axes = c.ints(key::Axes).value_or(Ints{0, 2, 3});
  const Moments all = moments(m, x, axes);
  return m.done(m.div(m.sub(x, all.mean), m.add(m.sqrt(all.variance), 1e-9)));
}

// (data, mask). Nothing is dropped unless the model is to be trained.
Made dropout(NodeContext& c) {
  double ratio = c.real(key::Ratio, 0.5);
  if (c.has(1)) {
    RLDB_TRY(ratio, c.real_in(1, 0.5));
  }
  RLDB_TRY(const double training, c.has(2) ? c.real_in(2, 0) : ir::Result<double>(0.0));
  if (training != 0 && ratio != 0) return refuse("it is in training mode: the elements that it drops are random");
  RLDB_TRY(const Expr* x, c.in(0));
  if (!c.wants(1)) return x;
  Chain m(c);
  const Dims dims = m.dims(x);
  const Expr* mask = m.full(dims, c.opset < 10 ? m.dtype(x) : DType::Bool(), 1);
  if (!m.good()) return m.done(nullptr);
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{x, mask}));
}

// Of com.microsoft. Operands: x, skip, gamma, beta, bias. Results: Y, mean, 1 / deviation, the sum.
Made skip_layer_norm(NodeContext& c) {
  Chain m(c);
  const Expr* sum = m.add(m.in(0), m.in(1));
  if (c.has(4)) sum = m.add(sum, m.in(4));
  const Dims dims = m.dims(sum);
  if (!m.good()) return m.done(nullptr);
  const Expr* beta = c.has(3) ? m.in(3) : m.full({dims.back()}, m.dtype(sum), 0);
  const Ints last{std::int64_t(dims.size()) - 1};
  const double epsilon = c.real(key::Epsilon, 1e-12);
  const Expr* made = m.op(op::NnLayerNorm, {sum, m.in(2), beta},
                          {{op_attr::Axes, c.ints_attr(last)}, {op_attr::Epsilon, c.ctx.attr(epsilon)}});
  if (c.outputs() < 2) return m.done(made);
  const Moments all = moments(m, sum, last);
  const Expr* inverse = inverse_root(m, all.variance, epsilon);
  if (!m.good()) return m.done(nullptr);
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{made, all.mean, inverse, sum}));
}

}  // namespace rldb::onnx::bodies
