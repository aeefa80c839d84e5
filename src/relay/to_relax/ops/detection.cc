// Object detection.
#include <fmt/format.h>

#include <cmath>

#include "relay/to_relax/ops/kernels.h"
#include "rldb/ir/op/vision.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/vision_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

namespace {

ir::Result<const ir::Attr*> pooled_size(OpCall& o) {
  const auto size = o.ints(relay::field::PooledSize);
  if (!size || size->size() != 2) return refuse("the size of its result is not known");
  return o.ints_attr(*size);
}

// A number that is an attribute in Relax.
ir::Result<double> constant_number(OpCall& o, std::size_t i) {
  if (const auto v = o.number(i)) return *v;
  return refuse(fmt::format("its operand {} is not a constant", i + 1));
}

}  // namespace

Made roi_align(OpCall& o) {
  RLDB_TRY(const ir::Attr* size, pooled_size(o));
  return o.call(op::VisionRoiAlign, o.args,
                {{op_attr::PooledSize, size},
                 {op_attr::SpatialScale, o.ctx.attr(o.real(relay::field::SpatialScale))},
                 {op_attr::SampleRatio, o.ctx.attr(o.integer(relay::field::SampleRatio).value_or(-1))},
                 {op_attr::Aligned, o.ctx.attr(false)},
                 {op_attr::Layout, o.ctx.attr(o.string(relay::field::Layout))},
                 {op_attr::Mode, o.ctx.attr(o.string(relay::field::Mode))}});
}

Made roi_pool(OpCall& o) {
  RLDB_TRY(const ir::Attr* size, pooled_size(o));
  return o.call(op::VisionRoiPool, o.args,
                {{op_attr::PooledSize, size},
                 {op_attr::SpatialScale, o.ctx.attr(o.real(relay::field::SpatialScale))},
                 {op_attr::Layout, o.ctx.attr(o.string(relay::field::Layout))}});
}

// Operands: boxes, the score threshold.
Made get_valid_counts(OpCall& o) {
  RLDB_TRY(const double threshold, constant_number(o, 1));
  return o.call(op::VisionGetValidCounts, {o.arg(0)},
                {{op_attr::ScoreThreshold, o.ctx.attr(threshold)},
                 {op_attr::IdIndex, o.ctx.attr(o.integer(relay::field::IdIndex).value_or(0))},
                 {op_attr::ScoreIndex, o.ctx.attr(o.integer(relay::field::ScoreIndex).value_or(1))}});
}

// Operands: boxes, the number of valid ones, their indices, the number to keep, the overlap threshold.
Made non_max_suppression(OpCall& o) {
  RLDB_TRY(const double most, constant_number(o, 3));
  RLDB_TRY(const double overlap, constant_number(o, 4));
  return o.call(op::VisionNonMaxSuppression, {o.arg(0), o.arg(1), o.arg(2)},
                {{op_attr::MaxOutputSize, o.ctx.attr(std::int64_t(most))},
                 {op_attr::IouThreshold, o.ctx.attr(overlap)},
                 {op_attr::ForceSuppress, o.ctx.attr(o.flag(relay::field::ForceSuppress))},
                 {op_attr::TopK, o.ctx.attr(o.integer(relay::field::TopK).value_or(-1))},
                 {op_attr::CoordStart, o.ctx.attr(o.integer(relay::field::CoordStart).value_or(2))},
                 {op_attr::ScoreIndex, o.ctx.attr(o.integer(relay::field::ScoreIndex).value_or(1))},
                 {op_attr::IdIndex, o.ctx.attr(o.integer(relay::field::IdIndex).value_or(0))},
                 {op_attr::ReturnIndices, o.ctx.attr(o.flag(relay::field::ReturnIndices))},
                 {op_attr::InvalidToBottom, o.ctx.attr(o.flag(relay::field::InvalidToBottom))}});
}

Made all_class_nms(OpCall& o) {
  return o.call(op::VisionAllClassNonMaxSuppression, o.args,
                {{op_attr::OutputFormat, o.ctx.attr(o.string(relay::field::OutputFormat))}});
}

namespace {

// A list of numbers, or TVM's default.
std::vector<double> numbers(OpCall& o, std::string_view name, std::vector<double> otherwise) {
  const relay::AttrValue* v = o.attr(name);
  if (!v || v->kind != relay::AttrKind::List) return otherwise;
  std::vector<double> made;
  for (const relay::AttrValue* item : v->items)
    made.push_back(item->kind == relay::AttrKind::Float ? item->real : double(item->integer));
  return made;
}

}  // namespace

// Boxes (left, top, right, bottom) around each position of an image: one of each size, and one of each further ratio.
Made multibox_prior(OpCall& o) {
  const auto sizes = numbers(o, relay::field::Sizes, {1}), ratios = numbers(o, relay::field::Ratios, {1}),
             steps = numbers(o, relay::field::Steps, {-1, -1}), offsets = numbers(o, relay::field::Offsets, {0.5, 0.5});
  if (sizes.empty() || ratios.empty() || steps.size() != 2 || offsets.size() != 2)
    return refuse("its sizes are not known");
  // Half the height of each box, and half the width if the image is square.
  std::vector<std::pair<double, double>> halves;
  for (const double s : sizes) halves.emplace_back(s / 2, s / 2);
  for (std::size_t k = 1; k < ratios.size(); ++k) {
    const double root = std::sqrt(ratios[k]);
    halves.emplace_back(sizes[0] / root / 2, sizes[0] * root / 2);
  }
  const bool clips = o.flag(relay::field::Clip);
  return o.kernel("relay_multibox_prior", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    ir::Context& ctx = te.ctx;
    const Real r{te, x->dtype};
    const Expr *high = x->shape[2], *wide = x->shape[3], *each = ctx.i64(std::int64_t(halves.size()));
    const Dims to{ctx.i64(1), ir::mul(ctx, ir::mul(ctx, high, wide), each), ctx.i64(4)};
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          const Expr *place = ir::floor_div(ctx, i[1], each), *box = ir::floor_mod(ctx, i[1], each);
          const auto middle = [&](std::size_t axis) {
            const Expr* at = axis == 0 ? ir::floor_div(ctx, place, wide) : ir::floor_mod(ctx, place, wide);
            const Expr* step = steps[axis] > 0 ? r.lit(steps[axis]) : r.div(r.lit(1), r.of(axis == 0 ? high : wide));
            return r.mul(r.add(r.of(at), r.lit(offsets[axis])), step);
          };
          const Expr *half_high = r.lit(halves[0].first), *half_wide = r.lit(halves[0].second);
          for (std::size_t k = 1; k < halves.size(); ++k) {
            const Expr* it = ir::compare(ctx, ir::BinaryKind::EQ, box, ctx.i64(std::int64_t(k)));
            half_high = ctx.select(it, r.lit(halves[k].first), half_high);
            half_wide = ctx.select(it, r.lit(halves[k].second), half_wide);
          }
          half_wide = r.div(r.mul(half_wide, r.of(high)), r.of(wide));
          const Expr* sides[] = {r.sub(middle(1), half_wide), r.sub(middle(0), half_high), r.add(middle(1), half_wide),
                                 r.add(middle(0), half_high)};
          const Expr* side = sides[3];
          for (std::int64_t k = 2; k >= 0; --k)
            side = ctx.select(ir::compare(ctx, ir::BinaryKind::EQ, i[2], ctx.i64(k)), sides[k], side);
          return clips ? ir::max(ctx, ir::min(ctx, side, r.lit(1)), r.lit(0)) : side;
        },
        "T_multibox_prior")};
  });
}

// Darknet's rearrangement: positions are counted as if the data had more rows and columns and fewer channels.
Made yolo_reorg(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(0));
  const std::int64_t stride = o.integer(relay::field::Stride).value_or(1);
  const auto channels = dims.size() == 4 ? int_of(dims[1]) : std::nullopt;
  if (!channels || stride < 1 || *channels < stride * stride) return refuse("its channels are too few, or not known");
  const auto batch = int_of(dims[0]);
  if (batch != 1 && stride != 1) return refuse("TVM's kernel reads beyond its data when the batch is not 1");
  const std::int64_t parts = *channels / (stride * stride);
  RLDB_TRY(const Expr* made, o.kernel("relay_yolo_reorg", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    ir::Context& ctx = te.ctx;
    const te::Tensor x = te.in[0];
    const auto times = [&](const Expr* a, std::int64_t by) { return ir::mul(ctx, a, ctx.i64(by)); };
    return {te.graph.compute(
        x->shape,
        [&](te::Indices i) {
          const Expr *part = ir::floor_mod(ctx, i[1], ctx.i64(parts)),
                     *shift = ir::floor_div(ctx, i[1], ctx.i64(parts));
          const Expr* down = ir::floor_div(ctx, shift, ctx.i64(stride));
          const Expr* over = ir::floor_mod(ctx, shift, ctx.i64(stride));
          const Expr* row = times(ir::add(ctx, times(i[2], stride), down), stride);
          const Expr* column = ir::add(ctx, times(i[3], stride), over);
          const Expr* rows = ir::add(ctx, ir::mul(ctx, times(part, stride * stride), x->shape[2]), row);
          const Expr* flat = ir::add(ctx, ir::mul(ctx, rows, x->shape[3]), column);
          const Expr* plane = ir::mul(ctx, x->shape[2], x->shape[3]);
          const Expr* within = ir::floor_mod(ctx, flat, plane);
          return te.graph.load(x, {i[0], ir::floor_div(ctx, flat, plane), ir::floor_div(ctx, within, x->shape[3]),
                                   ir::floor_mod(ctx, within, x->shape[3])});
        },
        "T_yolo_reorg")};
  }));
  return o.reshape(made, {dims[0], o.i64(*channels * stride * stride), ir::floor_div(o.ctx, dims[2], o.i64(stride)),
                          ir::floor_div(o.ctx, dims[3], o.i64(stride))});
}

}  // namespace rldb::to_relax::translations
