// Space and batch moved into each other, buffers, writes to positions, Fourier transforms.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "relay/to_relax/translations.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

namespace {

// A list of pairs, flat.
std::optional<Ints> flat_pairs(OpCall& o, std::string_view name) {
  const relay::AttrValue* v = o.attr(name);
  if (!v || v->kind != relay::AttrKind::List) return std::nullopt;
  Ints made;
  for (const relay::AttrValue* pair : v->items)
    for (const relay::AttrValue* item : pair->items) {
      if (item->kind != relay::AttrKind::Int) return std::nullopt;
      made.push_back(item->integer);
    }
  return made;
}

struct Blocks {
  Ints sizes, pairs;  // the pairs, concatenated
  std::int64_t total = 1;
};
ir::Result<Blocks> blocks_of(OpCall& o, std::string_view name) {
  const auto sizes = o.ints(relay::field::BlockShape), pairs = flat_pairs(o, name);
  if (!sizes || !pairs || pairs->size() != 2 * sizes->size()) return refuse("its blocks are not known");
  Blocks b{*sizes, *pairs, 1};
  for (const std::int64_t s : b.sizes) b.total *= s;
  return b;
}

}  // namespace

// The positions within a block go before the batch.
Made space_to_batch(OpCall& o) {
  RLDB_TRY(const Blocks b, blocks_of(o, relay::field::Paddings));
  RLDB_TRY(const Dims from, o.dims(0));
  Ints pads{0, 0};
  pads.insert(pads.end(), b.pairs.begin(), b.pairs.end());
  pads.resize(2 * from.size());
  RLDB_TRY(const Expr* x, o.emit(op::NnPad, {o.arg(0)},
                                 {{op_attr::PadWidth, o.ints_attr(pads)},
                                  {op_attr::PadValue, o.ctx.attr(o.real(relay::field::PadValue))}}));
  RLDB_TRY(const Dims dims, o.dims_of(x));
  Dims split{dims[0]}, made{ir::mul(o.ctx, dims[0], o.i64(b.total))};
  Ints inner, outer{0};
  for (std::size_t k = 0; k < b.sizes.size(); ++k) {
    outer.push_back(std::int64_t(split.size()));
    split.push_back(ir::floor_div(o.ctx, dims[k + 1], o.i64(b.sizes[k])));
    made.push_back(split.back());
    inner.push_back(std::int64_t(split.size()));
    split.push_back(o.i64(b.sizes[k]));
  }
  for (std::size_t k = b.sizes.size() + 1; k < dims.size(); ++k) {
    outer.push_back(std::int64_t(split.size()));
    split.push_back(dims[k]);
    made.push_back(dims[k]);
  }
  RLDB_TRY(const Expr* parts, o.reshape(x, split));
  inner.insert(inner.end(), outer.begin(), outer.end());
  RLDB_TRY(const Expr* moved, o.permute(parts, inner));
  return o.reshape(moved, made);
}

Made batch_to_space(OpCall& o) {
  RLDB_TRY(const Blocks b, blocks_of(o, relay::field::Crops));
  RLDB_TRY(const Dims dims, o.dims(0));
  const std::size_t count = b.sizes.size();
  Dims split, made{ir::floor_div(o.ctx, dims[0], o.i64(b.total))};
  for (const std::int64_t s : b.sizes) split.push_back(o.i64(s));
  split.push_back(made[0]);
  split.insert(split.end(), dims.begin() + 1, dims.end());
  Ints axes{std::int64_t(count)};
  for (std::size_t k = 0; k < count; ++k) {
    axes.push_back(std::int64_t(count + 1 + k));
    axes.push_back(std::int64_t(k));
    made.push_back(ir::mul(o.ctx, dims[k + 1], o.i64(b.sizes[k])));
  }
  for (std::size_t k = count + 1; k < dims.size(); ++k) {
    axes.push_back(std::int64_t(count + k));
    made.push_back(dims[k]);
  }
  RLDB_TRY(const Expr* parts, o.reshape(o.arg(0), split));
  RLDB_TRY(const Expr* moved, o.permute(parts, axes));
  RLDB_TRY(const Expr* whole, o.reshape(moved, made));
  Ints cut;
  Exprs begin, end, step;
  for (std::size_t k = 0; k < count; ++k) {
    cut.push_back(std::int64_t(k) + 1);
    begin.push_back(o.i64(b.pairs[2 * k]));
    end.push_back(ir::sub(o.ctx, made[k + 1], o.i64(b.pairs[2 * k + 1])));
    step.push_back(o.i64(1));
  }
  return o.call(op::StridedSlice, {whole, o.prims(cut), o.ctx.tuple(begin), o.ctx.tuple(end), o.ctx.tuple(step)});
}

// The buffer's elements move up, and the data goes to the end.
Made fifo_buffer(OpCall& o) {
  RLDB_TRY(const Dims data, o.dims(0));
  RLDB_TRY(const Dims buffer, o.dims(1));
  RLDB_TRY(const std::size_t axis, o.axis(o.integer(relay::field::Axis).value_or(0), buffer.size()));
  RLDB_TRY(const Expr* all, o.emit(op::Concat, {o.ctx.tuple(Exprs{o.arg(1), o.arg(0)})},
                                   {{op_attr::Axis, o.ctx.attr(std::int64_t(axis))}}));
  const Exprs begin{data[axis]}, end{ir::add(o.ctx, data[axis], buffer[axis])}, step{o.i64(1)};
  return o.call(op::StridedSlice,
                {all, o.prims({std::int64_t(axis)}), o.ctx.tuple(begin), o.ctx.tuple(end), o.ctx.tuple(step)});
}

// Operands: data, the values to write, begin, end, strides, for each axis from the first.
Made strided_set(OpCall& o) {
  Exprs operands{o.arg(0), o.arg(1)};
  for (std::size_t i = 2; i < 5; ++i) {
    RLDB_TRY(const ir::TensorType* bounds, o.tensor(i));
    if (bounds->ndim != 1) return refuse("its bounds are not of rank 1");
    RLDB_TRY(const Expr* wide, o.cast(o.arg(i), DType::Int(64)));
    operands.push_back(wide);
  }
  std::size_t counts[3];
  for (std::size_t i = 0; i < 3; ++i) {
    RLDB_TRY(const Dims dims, o.dims(2 + i));
    const auto n = int_of(dims[0]);
    if (!n) return refuse("how many axes its bounds name is not known");
    counts[i] = std::size_t(*n);
  }
  return o.kernel("relay_strided_set", operands, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0], v = te.in[1];
    ir::Context& ctx = te.ctx;
    return {te.graph.compute(
        x->shape,
        [&](te::Indices i) {
          const Expr* hit = ctx.bool_imm(true);
          Dims at;
          for (std::size_t k = 0; k < x->shape.size(); ++k) {
            const auto bound = [&](std::size_t list, const Expr* otherwise) {
              if (k >= counts[list]) return otherwise;
              return te.graph.load(te.in[2 + list], {ctx.i64(std::int64_t(k))});
            };
            const Expr *extent = x->shape[k], *zero = ctx.i64(0);
            // Negative bounds count from the end; all stay within the axis.
            const auto within = [&](const Expr* e) {
              e = ctx.select(ir::compare(ctx, ir::BinaryKind::LT, e, zero), ir::add(ctx, e, extent), e);
              return ir::max(ctx, ir::min(ctx, e, extent), ctx.i64(-1));
            };
            const Expr *begin = within(bound(0, zero)), *end = within(bound(1, extent)), *step = bound(2, ctx.i64(1));
            const Expr* up = ir::compare(ctx, ir::BinaryKind::GT, step, zero);
            // A downward walk begins at the last element at most.
            begin = ctx.select(up, ir::max(ctx, begin, zero), ir::min(ctx, begin, ir::sub(ctx, extent, ctx.i64(1))));
            const Expr* off = ctx.select(up, ir::sub(ctx, i[k], begin), ir::sub(ctx, begin, i[k]));
            const Expr* length = ctx.select(up, ir::sub(ctx, end, begin), ir::sub(ctx, begin, end));
            const Expr* by = ir::max(ctx, ctx.select(up, step, ir::sub(ctx, zero, step)), ctx.i64(1));
            hit = ir::logical_and(ctx, hit, ir::compare(ctx, ir::BinaryKind::GE, off, zero));
            hit = ir::logical_and(ctx, hit, ir::compare(ctx, ir::BinaryKind::LT, off, length));
            hit = ir::logical_and(ctx, hit, ir::compare(ctx, ir::BinaryKind::EQ, ir::floor_mod(ctx, off, by), zero));
            const Expr* index = ir::floor_div(ctx, off, by);
            at.push_back(ir::max(ctx, ir::min(ctx, index, ir::sub(ctx, v->shape[k], ctx.i64(1))), zero));
          }
          return static_cast<const Expr*>(
              ctx.intrin(x->dtype, ir::intrin::IfThenElse, {hit, te.graph.load(v, at), te.graph.load(x, i)}));
        },
        "T_strided_set")};
  });
}

// Operands: positions (one, several, or several of several coordinates), values, the value elsewhere, and the shape
// where it is not an attribute.
Made sparse_to_dense(OpCall& o) {
  if (o.args.size() < 3) return refuse("it has fewer operands than TVM gives it");
  Dims to;
  if (o.args.size() > 3) {
    RLDB_TRY(const Dims length, o.dims(3));
    const auto rank = length.size() == 1 ? int_of(length[0]) : std::nullopt;
    constexpr std::int64_t kMaxRank = 64;
    if (!rank || *rank > kMaxRank) return refuse("the rank of its result is not known");
    RLDB_TRY(to, o.dims_of_values(o.arg(3), std::size_t(*rank)));
  } else {
    for (const std::int64_t d : o.ints(relay::field::OutputShape).value_or(Ints())) to.push_back(o.i64(d));
  }
  RLDB_TRY(const Expr* everywhere, o.emit(op::BroadcastTo, {o.arg(2), o.ctx.shape(to)}));
  RLDB_TRY(const Expr* places, o.cast(o.arg(0), DType::Int(64)));
  RLDB_TRY(const Dims shape, o.dims_of(places));
  const Expr* count = shape.empty() ? o.i64(1) : shape[0];
  const Expr* coordinates = shape.size() == 2 ? shape[1] : o.i64(1);
  RLDB_TRY(const Expr* rows, o.reshape(places, {count, coordinates}));
  RLDB_TRY(const Dims values, o.dims(1));
  const Expr* given = o.arg(1);
  if (values.empty()) {
    RLDB_TRY(given, o.emit(op::BroadcastTo, {given, o.ctx.shape(Dims{count})}));
  }
  return o.call(op::ScatterNd, {everywhere, rows, given}, {{op_attr::Reduction, o.ctx.attr("update")}});
}

// The coordinates of flat indices: one row per axis.
Made unravel_index(OpCall& o) {
  RLDB_TRY(const Dims length, o.dims(1));
  const auto rank = length.size() == 1 ? int_of(length[0]) : std::nullopt;
  constexpr std::int64_t kMaxRank = 64;
  if (!rank || *rank > kMaxRank) return refuse("the rank of the shape is not known");
  RLDB_TRY(const Expr* shape, o.cast(o.arg(1), DType::Int(64)));
  return o.kernel("relay_unravel_index", {o.arg(0), shape}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    ir::Context& ctx = te.ctx;
    Dims to{ctx.i64(*rank)};
    to.insert(to.end(), x->shape.begin(), x->shape.end());
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          const Expr* rest = ir::cast_to(ctx, DType::Int(64), te.graph.load(x, Dims(i.begin() + 1, i.end())));
          const Expr* found = ctx.i64(0);
          for (std::int64_t k = *rank - 1; k >= 0; --k) {
            // If an index is valid, no axis of the shape is empty.
            const Expr* extent = ir::max(ctx, te.graph.load(te.in[1], {ctx.i64(k)}), ctx.i64(1));
            const Expr* here = ir::floor_mod(ctx, rest, extent);
            found = ctx.select(ir::compare(ctx, ir::BinaryKind::EQ, i[0], ctx.i64(k)), here, found);
            rest = ir::floor_div(ctx, rest, extent);
          }
          return ir::cast_to(ctx, x->dtype, found);
        },
        "T_unravel_index")};
  });
}

namespace {

const Expr* angle(ir::Context& ctx, DType t, const Expr* turns, const Expr* of) {
  const Expr* part = ir::div(ctx, ir::cast_to(ctx, t, turns), ir::cast_to(ctx, t, of));
  return ir::mul(ctx, part, ctx.literal(t, 2 * std::numbers::pi));
}
const Expr* wave(ir::Context& ctx, ir::Intrinsic f, const Expr* of) { return ctx.intrin(of->dtype(), f, {of}); }

}  // namespace

// Along the last axis. Operands and results: real and imaginary parts.
Made dft(OpCall& o) {
  const bool inverse = o.flag(relay::field::Inverse);
  Exprs parts;
  for (const bool real : {true, false}) {
    RLDB_TRY(const Expr* made,
             o.kernel(real ? "relay_dft_real" : "relay_dft_imaginary", o.args, [&](Te& te) -> std::vector<te::Tensor> {
               const te::Tensor x = te.in[0], y = te.in[1];
               ir::Context& ctx = te.ctx;
               const Expr* n = x->shape.back();
               const ir::IterVar k = te.graph.reduce_axis(n, relay::field::K);
               const te::Tensor total = te.graph.reduce(
                   x->shape,
                   [&](te::Indices i) {
                     Dims at(i.begin(), i.end());
                     // Whole turns are dropped, and small angles are exact.
                     const Expr* turns = ir::floor_mod(ctx, ir::mul(ctx, at.back(), k.var), n);
                     const Expr* w = angle(ctx, x->dtype, inverse ? turns : ir::sub(ctx, ctx.i64(0), turns), n);
                     at.back() = k.var;
                     const Expr *a = te.graph.load(x, at), *b = te.graph.load(y, at);
                     const Expr *c = wave(ctx, ir::intrin::Cos, w), *s = wave(ctx, ir::intrin::Sin, w);
                     if (real) return ir::sub(ctx, ir::mul(ctx, a, c), ir::mul(ctx, b, s));
                     return ir::add(ctx, ir::mul(ctx, a, s), ir::mul(ctx, b, c));
                   },
                   std::span(&k, 1), te.graph.sum_reducer(x->dtype), "T_dft_sum");
               if (!inverse) return {total};
               return {te.graph.compute(
                   x->shape,
                   [&](te::Indices i) { return ir::div(ctx, te.graph.load(total, i), ir::cast_to(ctx, x->dtype, n)); },
                   "T_dft")};
             }));
    parts.push_back(made);
  }
  return static_cast<const Expr*>(o.ctx.tuple(parts));
}

// Frames of a signal, each weighted by the window and transformed. Operands: the signal, the window.
Made stft(OpCall& o) {
  const auto length = o.integer(relay::field::NFft), hop = o.integer(relay::field::HopLength),
             win = o.integer(relay::field::WinLength);
  const relay::AttrValue *half = o.attr(relay::field::Onesided), *normalized = o.attr(relay::field::Normalized);
  if (!length || !hop || *length < 1 || *hop < 1) return refuse("its frames are not known");
  const std::int64_t frame = win.value_or(*length);
  const std::int64_t rows = !half || half->integer != 0 ? *length / 2 + 1 : *length;
  if (frame < 1 || frame > *length) return refuse("its window is longer than a frame");
  const double scale = normalized && normalized->integer != 0 ? 1 / std::sqrt(double(*length)) : 1;
  return o.kernel("relay_stft", o.args, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0], window = te.in[1];
    ir::Context& ctx = te.ctx;
    const Expr* free = ir::sub(ctx, x->shape.back(), ctx.i64(*length));
    const Expr* frames = ir::add(ctx, ir::floor_div(ctx, free, ctx.i64(*hop)), ctx.i64(1));
    Dims to(x->shape.begin(), x->shape.end() - 1);
    const std::size_t row = to.size();
    to.insert(to.end(), {ctx.i64(rows), frames, ctx.i64(2)});
    const ir::IterVar k = te.graph.reduce_axis(ctx.i64(frame), "k");
    const te::Tensor total = te.graph.reduce(
        to,
        [&](te::Indices i) {
          const Expr* turns = ir::floor_mod(ctx, ir::mul(ctx, i[row], k.var), ctx.i64(frame));
          const Expr* w = angle(ctx, x->dtype, turns, ctx.i64(frame));
          Dims at(i.begin(), i.begin() + std::ptrdiff_t(row));
          at.push_back(ir::add(ctx, ir::mul(ctx, i[row + 1], ctx.i64(*hop)), k.var));
          const Expr* here = ir::mul(ctx, te.graph.load(window, {k.var}), te.graph.load(x, at));
          const Expr* is_real = ir::compare(ctx, ir::BinaryKind::EQ, i[row + 2], ctx.i64(0));
          const Expr* down = ir::sub(ctx, ctx.literal(x->dtype, 0), wave(ctx, ir::intrin::Sin, w));
          return ir::mul(ctx, here, ctx.select(is_real, wave(ctx, ir::intrin::Cos, w), down));
        },
        std::span(&k, 1), te.graph.sum_reducer(x->dtype), "T_stft_sum");
    return {te.graph.compute(
        to, [&](te::Indices i) { return ir::mul(ctx, te.graph.load(total, i), ctx.literal(x->dtype, scale)); },
        "T_stft")};
  });
}

// The weight is blocked by rows: (blocks, inner dim, rows of a block).
Made dense_pack(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(1));
  RLDB_TRY(const Expr* moved, o.permute(o.arg(1), {1, 0, 2}));
  RLDB_TRY(const Expr* weight, o.reshape(moved, {dims[1], ir::mul(o.ctx, dims[0], dims[2])}));
  const auto dtype = o.dtype(relay::field::OutDtype);
  return o.call(op::Matmul, {o.arg(0), weight}, {{op_attr::OutDtype, dtype ? o.ctx.attr(*dtype) : o.ctx.attr_none()}});
}

}  // namespace rldb::to_relax::translations
