// Image resampling: grids, crops, deformed windows, morphology.
#include <fmt/format.h>

#include <algorithm>

#include "relay/to_relax/ops/kernels.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op/image.h"
#include "rldb/ir/op_attr/image_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

// The coordinates are the grid's second axis; Relax also accepts them as the last one, where no other dim of 2 is
// mistaken for them.
Made grid_sample(OpCall& o) {
  return o.call(op::ImageGridSample, {o.arg(0), o.arg(1)},
                {{op_attr::Method, o.ctx.attr(o.string(relay::field::Method))},
                 {op_attr::Layout, o.ctx.attr(o.string(relay::field::Layout))},
                 {op_attr::PaddingMode, o.ctx.attr(o.string(relay::field::PaddingMode))},
                 {op_attr::AlignCorners, o.ctx.attr(o.flag(relay::field::AlignCorners))}});
}

Made affine_grid(OpCall& o) {
  const auto size = o.ints(relay::field::TargetShape);
  if (!size || size->size() != 2) return refuse("its size is not known");
  const Dims dims{o.i64((*size)[0]), o.i64((*size)[1])};
  return o.call(op::ImageAffineGrid, {o.arg(0), o.ctx.shape(dims)});
}

// Operands: images, boxes (y1, x1, y2, x2) as fractions of an image, the image of each box.
Made crop_and_resize(OpCall& o) {
  const std::string_view layout = o.string(relay::field::Layout), method = o.string(relay::field::Method);
  const auto size = o.ints(relay::field::CropSize);
  if (!size || size->size() != 2) return refuse("its size is not known");
  if (method != "bilinear" && method != "nearest_neighbor") return refuse(fmt::format("there is no method {}", method));
  RLDB_TRY(const Ints there, order(layout, "NCHW"));
  RLDB_TRY(const Ints back, order("NCHW", layout));
  RLDB_TRY(const Expr* images, o.permute(o.arg(0), there));
  const double outside = o.real(relay::field::ExtrapolationValue);
  const bool nearest = method == "nearest_neighbor";
  RLDB_TRY(const ir::TensorType* type, o.tensor(0));
  const DType dtype = o.dtype(relay::field::OutDtype).value_or(type->dtype);
  RLDB_TRY(const Expr* made,
           o.kernel("relay_crop_and_resize", {images, o.arg(1), o.arg(2)}, [&](Te& te) -> std::vector<te::Tensor> {
             const te::Tensor x = te.in[0], boxes = te.in[1], of = te.in[2];
             Real r{te, boxes->dtype};
             const Dims to{boxes->shape[0], x->shape[1], te.ctx.i64((*size)[0]), te.ctx.i64((*size)[1])};
             return {te.graph.compute(
                 to,
                 [&](te::Indices i) {
                   // The position of an index of the crop.
                   const auto place = [&](std::size_t axis) {
                     const Expr* last = r.of(r.sub(x->shape[2 + axis], te.ctx.i64(1)));
                     const auto corner = [&](std::size_t k) {
                       return te.graph.load(boxes, {i[0], te.ctx.i64(std::int64_t(axis + 2 * k))});
                     };
                     const std::int64_t steps = (*size)[axis] - 1;
                     if (steps < 1) return r.mul(r.mul(r.add(corner(0), corner(1)), r.lit(0.5)), last);
                     const Expr* scale = r.div(r.mul(r.sub(corner(1), corner(0)), last), r.lit(double(steps)));
                     return r.add(r.mul(corner(0), last), r.mul(r.of(i[2 + axis]), scale));
                   };
                   const Expr* image = ir::cast_to(te.ctx, DType::Int(64), te.graph.load(of, {i[0]}));
                   const Sampled s{te, r, x, {image, i[1]}};
                   const Expr *y = place(0), *across = place(1);
                   const Expr* value = nearest ? s.nearest(y, across) : s.bilinear(y, across);
                   return ir::cast_to(
                       te.ctx, dtype,
                       te.ctx.intrin(r.dtype, ir::intrin::IfThenElse, {s.inside(y, across), value, r.lit(outside)}));
                 },
                 "T_crop_and_resize")};
           }));
  return o.permute(made, back);
}

// The largest sum of data and weight under a window (I, H, W). Elements outside the image count as 0.
Made dilation2d(OpCall& o) {
  RLDB_TRY(const Ints there, order(o.string(relay::field::DataLayout), "NCHW"));
  RLDB_TRY(const Ints back, order("NCHW", o.string(relay::field::DataLayout)));
  RLDB_TRY(const Ints of_weight, order(o.string(relay::field::KernelLayout), "IHW"));
  RLDB_TRY(const Expr* data, o.permute(o.arg(0), there));
  RLDB_TRY(const Expr* weight, o.permute(o.arg(1), of_weight));
  RLDB_TRY(const Slide slide, slide_of(o, relay::field::Dilations));
  RLDB_TRY(const ir::TensorType* type, o.tensor(0));
  const DType dtype = o.dtype(relay::field::OutDtype).value_or(type->dtype);
  RLDB_TRY(const Expr* made, o.kernel("relay_dilation2d", {data, weight}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0], w = te.in[1];
    const ir::IterVar window[] = {te.graph.reduce_axis(w->shape[1], "ry"), te.graph.reduce_axis(w->shape[2], "rx")};
    const Dims to{x->shape[0], x->shape[1], slide.count(te.ctx, x->shape[2], w->shape[1], 0),
                  slide.count(te.ctx, x->shape[3], w->shape[2], 1)};
    return {te.graph.reduce(
        to,
        [&](te::Indices i) {
          const Dims at{i[0], i[1], slide.place(te.ctx, i[2], window[0].var, 0),
                        slide.place(te.ctx, i[3], window[1].var, 1)};
          const Expr* value = ir::cast_to(te.ctx, dtype, load_or_zero(te, x, at));
          return ir::add(te.ctx, value,
                         ir::cast_to(te.ctx, dtype, te.graph.load(w, {i[1], window[0].var, window[1].var})));
        },
        window, te.graph.max_reducer(dtype), "T_dilation2d")};
  }));
  return o.permute(made, back);
}

// A convolution that reads each part of its window at an individual position. Operands: data, the offsets (y, x) of the
// position of each part, weight.
Made deformable_conv2d(OpCall& o) {
  const std::string_view layout = o.string(relay::field::DataLayout);
  if (o.integer(relay::field::Groups).value_or(1) != 1) return refuse("its groups are not one");
  RLDB_TRY(const Ints there, order(layout, "NCHW"));
  RLDB_TRY(const Ints back, order("NCHW", layout));
  RLDB_TRY(const Ints of_weight, order(o.string(relay::field::KernelLayout), "OIHW"));
  RLDB_TRY(const Expr* data, o.permute(o.arg(0), there));
  RLDB_TRY(const Expr* offset, o.permute(o.arg(1), there));
  RLDB_TRY(const Expr* weight, o.permute(o.arg(2), of_weight));
  RLDB_TRY(const Slide slide, slide_of(o, relay::field::Dilation));
  RLDB_TRY(const ir::TensorType* type, o.tensor(0));
  const DType dtype = o.dtype(relay::field::OutDtype).value_or(type->dtype);
  const std::int64_t parts = std::max<std::int64_t>(1, o.integer(relay::field::DeformableGroups).value_or(1));
  RLDB_TRY(const Expr* made,
           o.kernel("relay_deformable_conv2d", {data, offset, weight}, [&](Te& te) -> std::vector<te::Tensor> {
             const te::Tensor x = te.in[0], moved = te.in[1], w = te.in[2];
             ir::Context& ctx = te.ctx;
             Real r{te, moved->dtype};
             const Expr *high = w->shape[2], *wide = w->shape[3];
             const Expr* each = ir::floor_div(ctx, x->shape[1], ctx.i64(parts));
             const Dims deformed{x->shape[0], x->shape[1], high, wide, moved->shape[2], moved->shape[3]};
             const te::Tensor read = te.graph.compute(
                 deformed,
                 [&](te::Indices i) {
                   const Expr* part = ir::add(ctx, ir::mul(ctx, i[2], wide), i[3]);
                   const Expr* group = ir::mul(ctx, ir::floor_div(ctx, i[1], each), ir::mul(ctx, high, wide));
                   const auto place = [&](std::size_t axis) {
                     const Expr* channel =
                         ir::add(ctx, ir::mul(ctx, ir::add(ctx, group, part), ctx.i64(2)), ctx.i64(std::int64_t(axis)));
                     return r.add(r.of(slide.place(ctx, i[4 + axis], i[2 + axis], axis)),
                                  te.graph.load(moved, {i[0], channel, i[4], i[5]}));
                   };
                   const Sampled s{te, r, x, {i[0], i[1]}};
                   const Expr *y = place(0), *across = place(1);
                   return static_cast<const Expr*>(ctx.intrin(r.dtype, ir::intrin::IfThenElse,
                                                              {s.inside(y, across), s.bilinear(y, across), r.lit(0)}));
                 },
                 "T_deformed");
             const ir::IterVar sum[] = {te.graph.reduce_axis(x->shape[1], "rc"), te.graph.reduce_axis(high, "ry"),
                                        te.graph.reduce_axis(wide, "rx")};
             const Dims to{x->shape[0], w->shape[0], moved->shape[2], moved->shape[3]};
             return {te.graph.reduce(
                 to,
                 [&](te::Indices i) {
                   const Expr* v = te.graph.load(read, {i[0], sum[0].var, sum[1].var, sum[2].var, i[2], i[3]});
                   const Expr* f = te.graph.load(w, {i[1], sum[0].var, sum[1].var, sum[2].var});
                   return ir::mul(ctx, ir::cast_to(ctx, dtype, v), ir::cast_to(ctx, dtype, f));
                 },
                 sum, te.graph.sum_reducer(dtype), "T_deformable_conv2d")};
           }));
  return o.permute(made, back);
}

// The similarity of two images around each position when one is displaced: one channel per displacement.
Made correlation(OpCall& o) {
  const std::int64_t size = o.integer(relay::field::KernelSize).value_or(1),
                     most = o.integer(relay::field::MaxDisplacement).value_or(1),
                     stride = o.integer(relay::field::Stride1).value_or(1),
                     step = o.integer(relay::field::Stride2).value_or(1);
  const bool multiplies = o.flag(relay::field::IsMultiply);
  if (o.string(relay::field::Layout) != "NCHW") return refuse("its layout is not NCHW");
  RLDB_TRY(const Ints padding, four_paddings(o));
  const std::int64_t radius = most / step, places = 2 * radius + 1, border = most + (size - 1) / 2;
  return o.kernel("relay_correlation", o.args, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0], y = te.in[1];
    ir::Context& ctx = te.ctx;
    const auto count = [&](std::size_t axis) {
      const std::int64_t pads = padding[axis] + padding[axis + 2] - 2 * border + stride - 1;
      return ir::floor_div(ctx, ir::add(ctx, x->shape[2 + axis], ctx.i64(pads)), ctx.i64(stride));
    };
    const ir::IterVar sum[] = {te.graph.reduce_axis(x->shape[1], "rc"), te.graph.reduce_axis(ctx.i64(size), "ry"),
                               te.graph.reduce_axis(ctx.i64(size), "rx")};
    const Dims to{x->shape[0], ctx.i64(places * places), count(0), count(1)};
    const te::Tensor total = te.graph.reduce(
        to,
        [&](te::Indices i) {
          Dims first{i[0], sum[0].var}, second{i[0], sum[0].var};
          for (std::size_t axis = 0; axis < 2; ++axis) {
            const Expr* at = ir::add(ctx, ir::mul(ctx, i[2 + axis], ctx.i64(stride)), sum[1 + axis].var);
            first.push_back(ir::add(ctx, at, ctx.i64(most - padding[axis])));
            const Expr* by =
                axis == 0 ? ir::floor_div(ctx, i[1], ctx.i64(places)) : ir::floor_mod(ctx, i[1], ctx.i64(places));
            by = ir::mul(ctx, ir::sub(ctx, by, ctx.i64(radius)), ctx.i64(step));
            second.push_back(ir::add(ctx, first.back(), by));
          }
          const Expr *a = load_or_zero(te, x, first), *b = load_or_zero(te, y, second);
          if (multiplies) return ir::mul(ctx, a, b);
          return static_cast<const Expr*>(ctx.intrin(x->dtype, ir::intrin::Fabs, {ir::sub(ctx, a, b)}));
        },
        sum, te.graph.sum_reducer(x->dtype), "T_correlation_sum");
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          const Expr* all = ir::mul(ctx, x->shape[1], ctx.i64(size * size));
          return ir::div(ctx, te.graph.load(total, i), ir::cast_to(ctx, x->dtype, all));
        },
        "T_correlation")};
  });
}

// The gradient of a convolution with respect to its weight. Operands: the gradient of the result, the data.
Made conv2d_backward_weight(OpCall& o) {
  const auto sizes = o.ints(relay::field::KernelSize);
  if (!sizes || sizes->size() != 2) return refuse("the size of its window is not known");
  if (o.integer(relay::field::Groups).value_or(1) != 1) return refuse("its groups are not one");
  RLDB_TRY(const Ints there, order(o.string(relay::field::DataLayout), "NCHW"));
  RLDB_TRY(const Ints to_kernel, order("OIHW", o.string(relay::field::KernelLayout)));
  RLDB_TRY(const Expr* grad, o.permute(o.arg(0), there));
  RLDB_TRY(const Expr* data, o.permute(o.arg(1), there));
  RLDB_TRY(const Slide slide, slide_of(o, relay::field::Dilation));
  RLDB_TRY(const ir::TensorType* type, o.tensor(0));
  const DType dtype = o.dtype(relay::field::OutDtype).value_or(type->dtype);
  RLDB_TRY(
      const Expr* made, o.kernel("relay_conv2d_backward_weight", {grad, data}, [&](Te& te) -> std::vector<te::Tensor> {
        const te::Tensor g = te.in[0], x = te.in[1];
        const ir::IterVar sum[] = {te.graph.reduce_axis(g->shape[0], "rn"), te.graph.reduce_axis(g->shape[2], "ry"),
                                   te.graph.reduce_axis(g->shape[3], "rx")};
        const Dims to{g->shape[1], x->shape[1], te.ctx.i64((*sizes)[0]), te.ctx.i64((*sizes)[1])};
        return {te.graph.reduce(
            to,
            [&](te::Indices i) {
              const Dims at{sum[0].var, i[1], slide.place(te.ctx, sum[1].var, i[2], 0),
                            slide.place(te.ctx, sum[2].var, i[3], 1)};
              const Expr* a = te.graph.load(g, {sum[0].var, i[0], sum[1].var, sum[2].var});
              return ir::mul(te.ctx, ir::cast_to(te.ctx, dtype, a),
                             ir::cast_to(te.ctx, dtype, load_or_zero(te, x, at)));
            },
            sum, te.graph.sum_reducer(dtype), "T_conv2d_backward_weight")};
      }));
  return o.permute(made, to_kernel);
}

}  // namespace rldb::to_relax::translations
