// Regions of images brought to one size.
#include <fmt/format.h>

#include "onnx/ops/chain.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op/vision.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/vision_attr.h"

namespace rldb::onnx::bodies {

namespace {

ir::Result<Ints> pooled_size(NodeContext& c) {
  Ints size = c.ints(key::PooledShape).value_or(Ints{c.integer(key::OutputHeight, 1), c.integer(key::OutputWidth, 1)});
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) return refuse("the size of its result is not of two axes");
  return size;
}

struct Regions {
  Ints size;  // of each region's result
  double scale = 1;
  std::int64_t samples = 1;  // along each axis of a cell
  bool half_pixel = true;
};

// One axis of a sample: the elements before and behind it, their weights, and whether it is on the image.
struct SampledAxis {
  const Expr *low, *high, *low_weight, *high_weight, *inside;
};

struct RegionSampler {
  Te& te;
  const Regions& of;
  DType t;

  const Expr* lit(double v) const { return te.ctx.literal(t, v); }
  const Expr* real(const Expr* e) const { return ir::cast_to(te.ctx, t, e); }

  // `axis`: 0 is the height, 1 the width. Regions are (x1, y1, x2, y2).
  const Expr* place(const Expr* region, const Expr* cell, const Expr* sample, std::size_t axis) const {
    ir::Context& ctx = te.ctx;
    const auto corner = [&](std::size_t k) {
      const Expr* at = te.graph.load(te.in[1], {region, ctx.i64(std::int64_t(2 * k + 1 - axis))});
      return ir::sub(ctx, ir::mul(ctx, at, lit(of.scale)), lit(of.half_pixel ? 0.5 : 0));
    };
    const Expr* length = ir::sub(ctx, corner(1), corner(0));
    if (!of.half_pixel) length = ir::max(ctx, length, lit(1));
    const Expr* of_cell = ir::div(ctx, length, lit(double(of.size[axis])));
    const Expr* part = ir::div(ctx, ir::add(ctx, real(sample), lit(0.5)), lit(double(of.samples)));
    return ir::add(ctx, corner(0), ir::mul(ctx, ir::add(ctx, real(cell), part), of_cell));
  }

  SampledAxis axis(const Expr* at, const Expr* extent) const {
    ir::Context& ctx = te.ctx;
    const Expr* inside = ir::logical_and(ctx, ir::compare(ctx, ir::BinaryKind::GE, at, lit(-1)),
                                         ir::compare(ctx, ir::BinaryKind::LE, at, real(extent)));
    const Expr* last = ir::sub(ctx, extent, ctx.i64(1));
    const Expr* on = ir::min(ctx, ir::max(ctx, at, lit(0)), real(last));
    const Expr* low = ir::cast_to(ctx, DType::Int(64), ctx.intrin(t, ir::intrin::Floor, {on}));
    const Expr* high = ir::min(ctx, ir::add(ctx, low, ctx.i64(1)), last);
    const Expr* weight = ir::sub(ctx, on, real(low));
    return {low, high, ir::sub(ctx, lit(1), weight), weight, inside};
  }
};

// The largest weighted element around the samples of a cell: ONNX's definition of the mode. That of Relax is the
// largest sample.
Made largest_parts(NodeContext& c, const Regions& of, const Expr* x, const Expr* regions, const Expr* images) {
  return c.kernel("onnx_roi_align_max", {x, regions, images}, [&](Te& te) -> std::vector<te::Tensor> {
    ir::Context& ctx = te.ctx;
    const te::Tensor data = te.in[0];
    const RegionSampler s{te, of, data->dtype};
    const ir::IterVar parts[] = {te.graph.reduce_axis(ctx.i64(of.samples), "ry"),
                                 te.graph.reduce_axis(ctx.i64(of.samples), "rx"),
                                 te.graph.reduce_axis(ctx.i64(4), "corner")};
    const Dims to{te.in[1]->shape[0], data->shape[1], ctx.i64(of.size[0]), ctx.i64(of.size[1])};
    return {te.graph.reduce(
        to,
        [&](te::Indices i) {
          const SampledAxis y = s.axis(s.place(i[0], i[2], parts[0].var, 0), data->shape[2]),
                            across = s.axis(s.place(i[0], i[3], parts[1].var, 1), data->shape[3]);
          const Expr* below = ir::compare(ctx, ir::BinaryKind::GE, parts[2].var, ctx.i64(2));
          const Expr* right =
              ir::compare(ctx, ir::BinaryKind::EQ, ir::floor_mod(ctx, parts[2].var, ctx.i64(2)), ctx.i64(1));
          const Expr* image = ir::cast_to(ctx, DType::Int(64), te.graph.load(te.in[2], {i[0]}));
          const Expr* element = te.graph.load(
              data, {image, i[1], ctx.select(below, y.high, y.low), ctx.select(right, across.high, across.low)});
          const Expr* weight = ir::mul(ctx, ctx.select(below, y.high_weight, y.low_weight),
                                       ctx.select(right, across.high_weight, across.low_weight));
          return static_cast<const Expr*>(
              ctx.select(ir::logical_and(ctx, y.inside, across.inside), ir::mul(ctx, element, weight), s.lit(0)));
        },
        parts, te.graph.max_reducer(data->dtype), "T_roi_align_max")};
  });
}

}  // namespace

Made max_roi_pool(NodeContext& c) {
  RLDB_TRY(const Ints size, pooled_size(c));
  Chain m(c);
  return m.done(m.op(
      op::VisionRoiPool, {m.in(0), m.in(1)},
      {{op_attr::PooledSize, c.ints_attr(size)}, {op_attr::SpatialScale, c.ctx.attr(c.real(key::SpatialScale, 1))}}));
}

// Operands: images, regions, the image of each.
Made roi_align(NodeContext& c) {
  Regions of;
  RLDB_TRY(of.size, pooled_size(c));
  RLDB_TRY(const std::string how,
           c.word(key::CoordinateTransformationMode, c.opset < 16 ? "output_half_pixel" : "half_pixel",
                  {"half_pixel", "output_half_pixel"}));
  of.scale = c.real(key::SpatialScale, 1);
  of.samples = c.integer(key::SamplingRatio, 0);
  of.half_pixel = how == "half_pixel";
  RLDB_TRY(const std::string mode, c.word(key::Mode, "avg", {"avg", "max"}));
  Chain m(c);
  const Expr *x = m.in(0), *regions = m.in(1);
  if (mode == "max" && of.samples > 0) {
    const Expr* images = m.in(2);
    const bool fits = m.rank(x) == 4 && m.rank(regions) == 2 && m.rank(images) == 1 && m.dtype(x) == m.dtype(regions);
    if (!m.good() || !fits) return m.done(m.fail("its images or regions are of another rank or dtype"));
    return largest_parts(c, of, x, regions, images);
  }
  if (mode == "max") return refuse("the number of its samples depends on its regions, and the largest is requested");
  const Expr* images = m.expand(m.cast(m.in(2), m.dtype(regions)), {1});
  // `aligned` of Relax lets a region be small, but does not move it by half a pixel.
  if (of.half_pixel && of.scale == 0) return refuse("its regions are scaled by 0");
  if (of.half_pixel) regions = m.add(regions, -0.5 / of.scale);
  return m.done(m.op(op::VisionRoiAlign, {x, m.join({images, regions}, 1)},
                     {{op_attr::PooledSize, c.ints_attr(of.size)},
                      {op_attr::SpatialScale, c.ctx.attr(of.scale)},
                      {op_attr::SampleRatio, c.ctx.attr(of.samples)},
                      {op_attr::Aligned, c.ctx.attr(of.half_pixel)},
                      {op_attr::Mode, c.ctx.attr(mode)}}));
}

}  // namespace rldb::onnx::bodies
