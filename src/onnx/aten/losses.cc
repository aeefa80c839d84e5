// Norms, losses, and operators of PyTorch on regions and places of pictures.
#include <cmath>
#include <limits>

#include "onnx/aten/aten.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"

namespace rldb::onnx::aten {

// The p-th root of the sum of absolute values to the power of p; of infinite p the largest or smallest one.
Made vector_norm(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  x = m.cast(x, m.result_type(m.dtype(x)));
  const double p = m.real("ord", 2);
  const Value axes = m.known(m.axes("dim", x));
  const Attributes keep{{key::Keepdims, std::int64_t(m.truth("keepdim", false))}};
  if (p == 1) return m.done(m.onnx(op_name::ReduceL1, {Aten::of(x), axes}, keep));
  if (p == 2) return m.done(m.onnx(op_name::ReduceL2, {Aten::of(x), axes}, keep));
  const Expr* size = m.unary(op::Abs, x);
  if (std::isinf(p))
    return m.done(m.onnx(p > 0 ? op_name::ReduceMax : op_name::ReduceMin, {Aten::of(size), axes}, keep));
  if (p == 0) {
    const Expr* is_other = m.cast(m.cast(size, DType::Bool()), m.dtype(x));
    return m.done(m.onnx(op_name::ReduceSum, {Aten::of(is_other), axes}, keep));
  }
  const Expr* powers = m.onnx(op_name::Pow, {Aten::of(size), Aten::of(m.lit(x, p))});
  const Expr* sum = m.onnx(op_name::ReduceSum, {Aten::of(powers), axes}, keep);
  return m.done(m.onnx(op_name::Pow, {Aten::of(sum), Aten::of(m.lit(x, 1 / p))}));
}

// The targets are the numbers of classes.
Made cross_entropy(NodeContext& c) {
  constexpr std::string_view kReductions[] = {"none", "mean", "sum"};
  Aten m(c);
  const Expr *x = m.self(), *target = m.tensor("target");
  const std::int64_t reduction = m.integer("reduction", 1);
  if (m.good() && m.dtype(target).is_float()) return refuse("its targets are probabilities");
  if (m.real("label_smoothing", 0) != 0) return refuse("its targets are smoothed");
  if (m.good() && (reduction < 0 || reduction > 2)) return refuse("its reduction is not one of PyTorch's");
  if (m.good() && m.rank(x) < 2) return refuse("its data has no batch");
  Values operands{Aten::of(x), Aten::of(target)};
  if (m.given("weight")) operands.push_back(m.value("weight"));
  return m.done(m.onnx(op_name::SoftmaxCrossEntropyLoss, operands,
                       {{key::Reduction, std::string(m.good() ? kReductions[reduction] : "")},
                        {key::IgnoreIndex, m.integer("ignore_index", -100)}}));
}

// (result, means, inverse deviations) of the groups.
Made native_group_norm(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Dims dims = m.dims(x);
  const std::int64_t groups = m.integer("group", 1);
  const Expr* made = normalised_groups(m, x, groups);
  if (!m.good()) return m.done(nullptr);
  const Value rows = m.known(Dims{dims[0], c.i64(groups), c.i64(-1)});
  const Expr* in_groups = m.onnx(op_name::Reshape, {Aten::of(x), rows});
  const Expr* mean = m.reduce(op::Mean, in_groups, {2}, true);
  const Expr* difference = m.sub(in_groups, mean);
  const Expr* variance = m.reduce(op::Mean, m.mul(difference, difference), {2}, false);
  const Expr* scale = m.unary(op::Rsqrt, m.add(variance, m.real("eps", 1e-5)));
  const Dims of_groups{dims[0], c.i64(groups)};
  return m.give({Aten::of(made), Aten::of(m.reshape(mean, of_groups)), Aten::of(scale)});
}

Made affine_grid(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::AffineGrid, {m.self_value(), m.known(m.sizes("size"))},
                       {{key::AlignCorners, std::int64_t(m.truth("align_corners", false))}}));
}

// The first column of the regions is the number of the picture.
Made region_align(NodeContext& c) {
  Aten m(c);
  const Expr* rois = m.tensor("rois");
  const Dims dims = m.dims(rois);
  if (!m.good() || dims.size() != 2) return m.done(m.fail("its regions are not rows of five numbers"));
  const Expr* picture = m.cast(m.reshape(m.slice(rois, 1, 0, 1), {dims[0]}), DType::Int(64));
  const std::int64_t samples = m.integer("sampling_ratio", -1);
  const bool aligned = m.truth("aligned", false);
  return m.done(
      m.onnx(op_name::RoiAlign, {m.self_value(), Aten::of(m.slice(rois, 1, 1, 5)), Aten::of(picture)},
             {{key::SpatialScale, m.real("spatial_scale", 1)},
              {key::OutputHeight, m.integer("pooled_height", 1)},
              {key::OutputWidth, m.integer("pooled_width", 1)},
              {key::SamplingRatio, samples < 0 ? 0 : samples},
              {key::CoordinateTransformationMode, std::string(aligned ? "half_pixel" : "output_half_pixel")}}));
}

// Relax's operator: ONNX has none.
Made running_product(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  x = m.cast(x, m.result_type(m.dtype(x)));
  const std::size_t axis = m.axis(m.integer("dim", 0), x);
  if (!m.good()) return m.done(nullptr);
  return m.done(m.op(op::Cumprod, {x}, {{op_attr::Axis, c.ctx.attr(std::int64_t(axis))}}));
}

}  // namespace rldb::onnx::aten
