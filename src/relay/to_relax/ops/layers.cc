// Layers: products, activations, normalisations, padding, losses.
#include <fmt/format.h>

#include <algorithm>

#include "relay/to_relax/translations.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

namespace {

const ir::Attr* out_dtype(OpCall& o) {
  const auto t = o.dtype(relay::field::OutDtype);
  return t ? o.ctx.attr(*t) : o.ctx.attr_none();
}

// Swaps the last two axes.
Made transposed(OpCall& o, const Expr* x) {
  RLDB_TRY(const ir::TensorType* t, o.tensor_of(x));
  if (t->ndim < 2) return x;
  Ints axes = iota(0, t->ndim);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return o.permute(x, axes);
}

// The product of `a`, summed over its last dim, with `b`, summed over its second to last.
Made product(OpCall& o, const Expr* a, const Expr* b) {
  RLDB_TRY(const Dims left, o.dims_of(a));
  RLDB_TRY(const Dims right, o.dims_of(b));
  b = o.with_dim(b, right.size() - 2, left.back());
  return o.call(op::Matmul, {a, b}, {{op_attr::OutDtype, out_dtype(o)}});
}

}  // namespace

Made dense(OpCall& o) {
  RLDB_TRY(const Expr* weight, o.permute(o.arg(1), {1, 0}));
  return product(o, o.arg(0), weight);
}

Made matmul(OpCall& o) {
  const Expr *a = o.arg(0), *b = o.arg(1);
  if (o.flag(relay::field::TransposeA)) {
    RLDB_TRY(a, transposed(o, a));
  }
  if (o.flag(relay::field::TransposeB)) {
    RLDB_TRY(b, transposed(o, b));
  }
  return product(o, a, b);
}

Made batch_matmul(OpCall& o) {
  RLDB_TRY(const Dims left, o.dims(0));
  RLDB_TRY(const Dims right, o.dims(1));
  if (!ir::is_const(left[0], 1) && !ir::is_const(right[0], 1)) o.args[1] = o.with_dim(o.arg(1), 0, left[0]);
  return matmul(o);
}

Made bias_add(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(0));
  RLDB_TRY(const std::size_t axis, o.axis(o.integer(relay::field::Axis).value_or(1), dims.size()));
  const Expr* bias = o.with_dim(o.arg(1), 0, dims[axis]);
  RLDB_TRY(const Expr* wide, o.expand(bias, iota(1, std::int64_t(dims.size() - axis))));
  return o.broadcast(op::Add, {o.arg(0), wide});
}

// ---- activations ----

Made leaky_relu(OpCall& o) {
  return o.call(op::NnLeakyrelu, {o.arg(0)}, {{op_attr::Alpha, o.ctx.attr(o.real(relay::field::Alpha))}});
}

Made prelu(OpCall& o) {
  return o.call(op::NnPrelu, o.args, {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(1))}});
}

Made softmax(OpCall& o) {
  return o.call(o.target, {o.arg(0)}, {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(-1))}});
}

// ---- normalisation ----

namespace {

struct NormAttrs {
  const ir::Attr *epsilon, *center, *scale;
};
NormAttrs norm_attrs(OpCall& o) {
  return {o.ctx.attr(o.real(relay::field::Epsilon)), o.ctx.attr(o.flag(relay::field::Center)),
          o.ctx.attr(o.flag(relay::field::Scale))};
}

}  // namespace

Made batch_norm(OpCall& o) {
  const NormAttrs a = norm_attrs(o);
  return o.call(op::NnBatchNorm, o.args,
                {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(1))},
                 {op_attr::Epsilon, a.epsilon},
                 {op_attr::Center, a.center},
                 {op_attr::Scale, a.scale},
                 {op_attr::Training, o.ctx.attr(false)}});
}

Made layer_norm(OpCall& o) {
  const NormAttrs a = norm_attrs(o);
  return o.call(op::NnLayerNorm, o.args,
                {{op_attr::Axes, o.ints_attr({o.integer(relay::field::Axis).value_or(-1)})},
                 {op_attr::Epsilon, a.epsilon},
                 {op_attr::Center, a.center},
                 {op_attr::Scale, a.scale}});
}

namespace {

// All axes except the batch and the channels.
ir::Result<Ints> inner_axes(OpCall& o, std::size_t& channel) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(channel, o.axis(o.integer(relay::field::Axis).value_or(1), std::size_t(t->ndim)));
  Ints axes = iota(1, t->ndim);
  std::erase(axes, std::int64_t(channel));
  return axes;
}

}  // namespace

Made instance_norm(OpCall& o) {
  std::size_t channel = 0;
  RLDB_TRY(const Ints axes, inner_axes(o, channel));
  const NormAttrs a = norm_attrs(o);
  return o.call(op::NnInstanceNorm, o.args,
                {{op_attr::ChannelAxis, o.ctx.attr(std::int64_t(channel))},
                 {op_attr::Axes, o.ints_attr(axes)},
                 {op_attr::Epsilon, a.epsilon},
                 {op_attr::Center, a.center},
                 {op_attr::Scale, a.scale}});
}

Made group_norm(OpCall& o) {
  std::size_t channel = 0;
  RLDB_TRY(const Ints axes, inner_axes(o, channel));
  const NormAttrs a = norm_attrs(o);
  return o.call(op::NnGroupNorm, o.args,
                {{op_attr::NumGroups, o.ctx.attr(o.integer(relay::field::NumGroups).value_or(0))},
                 {op_attr::ChannelAxis, o.ctx.attr(std::int64_t(channel))},
                 {op_attr::Axes, o.ints_attr(axes)},
                 {op_attr::Epsilon, a.epsilon},
                 {op_attr::Center, a.center},
                 {op_attr::Scale, a.scale}});
}

// A program that is run does not drop anything.
Made dropout(OpCall& o) {
  RLDB_TRY(const Expr* mask, o.emit(op::OnesLike, {o.arg(0)}));
  const Expr* both[] = {o.arg(0), mask};
  return o.ctx.tuple(both);
}

// x / sqrt(max(sum(x * x), eps))
Made l2_normalize(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  const Ints axes = o.ints(relay::field::Axis).value_or(iota(0, t->ndim));
  RLDB_TRY(const Expr* square, o.emit(op::Multiply, {o.arg(0), o.arg(0)}));
  RLDB_TRY(const Expr* sum,
           o.emit(op::Sum, {square}, {{op_attr::Axis, o.ints_attr(axes)}, {op_attr::Keepdims, o.ctx.attr(true)}}));
  RLDB_TRY(const Expr* least, o.emit(op::Maximum, {sum, o.scalar(t->dtype, o.real(relay::field::Eps))}));
  RLDB_TRY(const Expr* length, o.emit(op::Sqrt, {least}));
  return o.call(op::Divide, {o.arg(0), length});
}

// x / (bias + alpha / size * s)^beta, where s sums the squares of `size` neighbours along the axis.
Made lrn(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const std::size_t axis, o.axis(o.integer(relay::field::Axis).value_or(1), std::size_t(t->ndim)));
  const std::int64_t size = o.integer(relay::field::Size).value_or(5);
  if (size < 1) return refuse("its size is not positive");
  ir::Context& ctx = o.ctx;
  RLDB_TRY(const Expr* sums, o.kernel("relay_lrn_sums", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    const ir::IterVar k = te.graph.reduce_axis(ctx.i64(size));
    const std::vector<ir::IterVar> over{k};
    return {te.graph.reduce(
        x->shape,
        [&](te::Indices i) {
          Dims at(i.begin(), i.end());
          at[axis] = ir::sub(ctx, ir::add(ctx, i[axis], k.var), ctx.i64(size / 2));
          const Expr* inside = ir::logical_and(ctx, ir::compare(ctx, ir::BinaryKind::GE, at[axis], ctx.i64(0)),
                                               ir::compare(ctx, ir::BinaryKind::LT, at[axis], x->shape[axis]));
          const Expr* v = te.graph.load(x, at);
          return ctx.intrin(x->dtype, ir::intrin::IfThenElse, {inside, ir::mul(ctx, v, v), ctx.literal(x->dtype, 0)});
        },
        over, te.graph.sum_reducer(x->dtype), "T_lrn_sums")};
  }));
  const double alpha = o.real(relay::field::Alpha) / double(size);
  RLDB_TRY(const Expr* scaled, o.emit(op::Multiply, {sums, o.scalar(t->dtype, alpha)}));
  RLDB_TRY(const Expr* biased, o.emit(op::Add, {scaled, o.scalar(t->dtype, o.real(relay::field::Bias))}));
  RLDB_TRY(const Expr* divisor, o.emit(op::Power, {biased, o.scalar(t->dtype, o.real(relay::field::Beta))}));
  return o.call(op::Divide, {o.arg(0), divisor});
}

// ---- padding ----

namespace {

ir::Result<Ints> pad_widths(OpCall& o, std::size_t rank) {
  const relay::AttrValue* pairs = o.attr(relay::field::PadWidth);
  Ints widths;
  if (pairs && pairs->items.size() == rank)
    for (const relay::AttrValue* pair : pairs->items)
      for (const relay::AttrValue* w : pair->items)
        if (w->kind == relay::AttrKind::Int) widths.push_back(w->integer);
  if (widths.size() != 2 * rank) return refuse("its pad_width is not a pair of integers for each axis");
  return widths;
}

// Elements of `x` at positions that `index` computes from those of the result, axis by axis; `value` where they are
// outside.
using PadIndex = std::function<const Expr*(const Expr* place, const Expr* extent)>;
Made padded(OpCall& o, const Ints& widths, const Exprs& operands, const PadIndex& index, bool fills) {
  ir::Context& ctx = o.ctx;
  return o.kernel("relay_pad", operands, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    Dims dims;
    for (std::size_t k = 0; k < x->shape.size(); ++k)
      dims.push_back(ir::add(ctx, x->shape[k], ctx.i64(widths[2 * k] + widths[2 * k + 1])));
    return {te.graph.compute(
        dims,
        [&](te::Indices i) {
          Dims at;
          const Expr* inside = nullptr;
          for (std::size_t k = 0; k < x->shape.size(); ++k) {
            const Expr* place = ir::sub(ctx, i[k], ctx.i64(widths[2 * k]));
            at.push_back(index ? index(place, x->shape[k]) : place);
            const Expr* both = ir::logical_and(ctx, ir::compare(ctx, ir::BinaryKind::GE, place, ctx.i64(0)),
                                               ir::compare(ctx, ir::BinaryKind::LT, place, x->shape[k]));
            inside = inside ? ir::logical_and(ctx, inside, both) : both;
          }
          const Expr* v = te.graph.load(x, at);
          if (!fills || !inside) return v;
          const Expr* fill = te.graph.load(te.in[1], std::initializer_list<const Expr*>{});
          return static_cast<const Expr*>(ctx.intrin(x->dtype, ir::intrin::IfThenElse, {inside, v, fill}));
        },
        "T_pad")};
  });
}

// Positions outside are mirrored at the first and the last element, which are repeated or not.
PadIndex mirror(ir::Context& ctx, bool repeats_edge) {
  return [&ctx, repeats_edge](const Expr* place, const Expr* extent) {
    const std::int64_t low = repeats_edge ? 1 : 0, high = repeats_edge ? 1 : 2;
    const Expr* below = ir::sub(ctx, ctx.i64(-low), place);
    const Expr* above = ir::sub(ctx, ir::sub(ctx, ir::mul(ctx, extent, ctx.i64(2)), ctx.i64(high)), place);
    const Expr* inside = ctx.select(ir::compare(ctx, ir::BinaryKind::GE, place, extent), above, place);
    return static_cast<const Expr*>(ctx.select(ir::compare(ctx, ir::BinaryKind::LT, place, ctx.i64(0)), below, inside));
  };
}

}  // namespace

Made pad(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const Ints widths, pad_widths(o, std::size_t(t->ndim)));
  if (widths.empty()) return o.arg(0);
  const std::string_view mode = o.string(relay::field::PadMode);
  if (mode == "constant") {
    // The value of Relax's operator is a double.
    const bool exact = o.number(1) && (t->dtype.is_float() || t->dtype.bits <= 32);
    if (exact && *std::min_element(widths.begin(), widths.end()) >= 0)
      return o.call(op::NnPad, {o.arg(0)},
                    {{op_attr::PadWidth, o.ints_attr(widths)}, {op_attr::PadValue, o.ctx.attr(*o.number(1))}});
    RLDB_TRY(const Expr* fill, o.cast(o.arg(1), t->dtype));
    return padded(o, widths, {o.arg(0), fill}, nullptr, true);
  }
  ir::Context& ctx = o.ctx;
  if (mode == "edge")
    return padded(
        o, widths, {o.arg(0)},
        [&](const Expr* place, const Expr* extent) {
          return ir::max(ctx, ir::min(ctx, place, ir::sub(ctx, extent, ctx.i64(1))), ctx.i64(0));
        },
        false);
  if (mode == "reflect") return padded(o, widths, {o.arg(0)}, mirror(ctx, false), false);
  return refuse(fmt::format("it has no pad_mode \"{}\"", mode));
}

Made mirror_pad(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const Ints widths, pad_widths(o, std::size_t(t->ndim)));
  return padded(o, widths, {o.arg(0)}, mirror(o.ctx, o.string(relay::field::Mode) == "SYMMETRIC"), false);
}

// ---- losses ----

// The mean over the batch of the negative sum of labels times predictions.
Made cross_entropy(OpCall& o) {
  RLDB_TRY(const Expr* log, o.emit(op::Log, {o.arg(0)}));
  return o.call(op::NnCrossEntropyWithLogits, {log, o.arg(1)});
}
Made cross_entropy_with_logits(OpCall& o) { return o.call(op::NnCrossEntropyWithLogits, o.args); }

Made nll_loss(OpCall& o) {
  return o.call(op::NnNllLoss, o.args,
                {{op_attr::Reduction, o.ctx.attr(o.string(relay::field::Reduction))},
                 {op_attr::IgnoreIndex, o.ctx.attr(o.integer(relay::field::IgnoreIndex).value_or(-100))}});
}

}  // namespace rldb::to_relax::translations
