// Layers and reductions of PyTorch.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/aten/aten.h"
#include "onnx/aten/variant.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op_attr/window_attr.h"

namespace rldb::onnx::aten {

// ---- products ----

Made linear(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Expr* made = m.matmul(x, m.permute(m.tensor("weight"), {1, 0}));
  if (m.given("bias")) made = m.add(made, m.tensor("bias"));
  return m.done(made);
}

Made matmul(NodeContext& c) {
  Aten m(c);
  const std::string_view other = m.given("mat2") ? "mat2" : "other";
  return m.done(m.matmul(m.self(), m.tensor(other)));
}

// beta * self + alpha * (a @ b)
Made add_product(NodeContext& c) {
  Aten m(c);
  const bool batched = m.given("batch1");
  const Expr* made = m.matmul(m.tensor(batched ? "batch1" : "mat1"), m.tensor(batched ? "batch2" : "mat2"));
  const Expr* bias = m.self();
  if (m.real("alpha", 1) != 1) made = m.mul(made, m.real("alpha", 1));
  if (m.real("beta", 1) != 1) bias = m.mul(bias, m.real("beta", 1));
  return m.done(m.add(bias, made));
}

// ---- windows ----

namespace {

Ints on_both_sides(Ints pads) {
  const Ints once = pads;
  pads.insert(pads.end(), once.begin(), once.end());
  return pads;
}

// The number of spatial axes; a failure for data without a batch.
std::size_t spatial_axes(Aten& m, const Expr* x) {
  const std::size_t n = m.rank(x);
  if (n < 3) m.fail("its data has no batch, channels and spatial axes");
  return n < 3 ? 1 : n - 2;
}

}  // namespace

Made convolution(NodeContext& c) {
  Aten m(c);
  const Expr *x = m.self(), *weight = m.tensor("weight");
  const std::size_t n = spatial_axes(m, x);
  if (m.rank(weight) != n + 2) return m.done(m.fail("its data has no batch"));
  const bool transposed = m.truth("transposed", c.target == variant::Transposed);
  Attributes attributes{{key::Strides, m.per_axis("stride", n, {1})},
                        {key::Dilations, m.per_axis("dilation", n, {1})},
                        {key::Group, m.integer("groups", 1)}};
  const std::string how = m.text("padding", "");
  if (how == "same")
    attributes.push_back({key::AutoPad, std::string("SAME_UPPER")});
  else if (how != "valid")
    attributes.push_back({key::Pads, on_both_sides(m.per_axis("padding", n, {0}))});
  if (transposed) attributes.push_back({key::OutputPadding, m.per_axis("output_padding", n, {0})});
  Values operands{Aten::of(x), Aten::of(weight)};
  if (m.given("bias")) operands.push_back(m.value("bias"));
  return m.done(m.onnx(transposed ? op_name::ConvTranspose : op_name::Conv, operands, attributes));
}

namespace {

Attributes window_attributes(Aten& m, std::size_t n) {
  const Ints kernel = m.per_axis("kernel_size", n, {});
  return {{key::KernelShape, kernel},
          {key::Strides, m.per_axis("stride", n, kernel)},
          {key::Pads, on_both_sides(m.per_axis("padding", n, {0}))},
          {key::CeilMode, std::int64_t(m.truth("ceil_mode", false))}};
}

Attributes dilated_window_attributes(Aten& m, std::size_t n) {
  Attributes attributes = window_attributes(m, n);
  attributes.push_back({key::Dilations, m.per_axis("dilation", n, {1})});
  return attributes;
}

}  // namespace

Made max_pool(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const std::size_t n = spatial_axes(m, x);
  const Attributes attributes = dilated_window_attributes(m, n);
  return m.done(m.onnx(op_name::MaxPool, {Aten::of(x)}, attributes));
}

// (largest elements, their places in the picture of one channel)
Made max_pool_with_places(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const std::size_t n = spatial_axes(m, x);
  const Attributes attributes = dilated_window_attributes(m, n);
  const Values made = m.onnx_all(op_name::MaxPool, {Aten::of(x)}, attributes, 2);
  const Dims dims = m.dims(x);
  if (!m.good() || made.size() != 2) return m.done(nullptr);
  // ONNX counts through all channels of the batch.
  const Expr* size = ir::product(c.ctx, Dims(dims.begin() + 2, dims.end()));
  const Expr* one_channel = m.take(c.tensor_from({DType::Int(64), 0, {size}}));
  return m.give({made[0], Aten::of(m.onnx(op_name::Mod, {made[1], Aten::of(one_channel)}))});
}

namespace {

// The data with its pads. PyTorch divides by the part of a window that lies in these, ONNX by the whole window. Pads
// behind the last window are left out: a window must not begin there.
const Expr* with_counted_pads(Aten& m, const Expr* x, std::size_t n) {
  const Ints kernel = m.per_axis("kernel_size", n, {}), stride = m.per_axis("stride", n, kernel),
             padding = m.per_axis("padding", n, {0});
  if (!m.good() || padding == Ints(n, 0)) return x;
  Ints pads(2 * (n + 2));
  for (std::size_t k = 0; k < n; ++k) {
    const std::int64_t front = m.size(x, k + 2) + padding[k];
    if (!m.good() || stride[k] < 1) return m.fail("its strides are not positive");
    std::int64_t last = (front + padding[k] - kernel[k] + stride[k] - 1) / stride[k] * stride[k];  // where it begins
    if (last >= front) last -= stride[k];
    pads[k + 2] = padding[k];
    pads[n + 4 + k] = std::clamp(last + kernel[k] - front, std::int64_t(0), padding[k]);
  }
  return m.onnx(op_name::Pad, {Aten::of(x), m.known(pads)});
}

}  // namespace

Made average_pool(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  if (m.given("divisor_override")) return refuse("its divisor is given");
  const std::size_t n = spatial_axes(m, x);
  const bool counts_pads = m.truth("count_include_pad", true), last_partial = m.truth("ceil_mode", false);
  Attributes attributes = window_attributes(m, n);
  if (counts_pads && last_partial) {
    x = with_counted_pads(m, x, n);
    for (Attribute& a : attributes)
      if (a.name == key::Pads) a.value = Ints(2 * n, 0);
  }
  attributes.push_back({key::CountIncludePad, std::int64_t(counts_pads && !last_partial)});
  return m.done(m.onnx(op_name::AveragePool, {Aten::of(x)}, attributes));
}

Made adaptive_average_pool(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const std::size_t n = spatial_axes(m, x);
  const Ints size = m.per_axis("output_size", n, {1});
  if (!m.good()) return m.done(nullptr);
  if (size == Ints(n, 1)) return m.done(m.reduce(op::Mean, x, iota(2, std::int64_t(n) + 2), true));
  if (n > 2) return refuse("it has three axes, and its result is not one element of each");
  return m.done(m.op(n == 1 ? op::NnAdaptiveAvgPool1d : op::NnAdaptiveAvgPool2d, {x},
                     {{op_attr::OutputSize, c.ints_attr(size)}}));
}

// ---- normalisation ----

// (result, empty, empty): the saved statistics of inference are none.
Made batch_norm(NodeContext& c) {
  Aten m(c);
  if (m.truth("training", false)) return refuse("it is in training mode");
  const Expr* x = m.self();
  const Values operands{Aten::of(x), m.per_channel("weight", x, 1), m.per_channel("bias", x, 0),
                        m.per_channel("running_mean", x, 0), m.per_channel("running_var", x, 1)};
  const Expr* made = m.onnx(op_name::BatchNormalization, operands, {{key::Epsilon, m.real("eps", 1e-5)}});
  return m.give({Aten::of(made)});
}

Made layer_norm(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const Dims shape = m.sizes("normalized_shape");
  Values operands{Aten::of(x), Aten::of(m.given("weight") ? m.tensor("weight") : m.full(shape, m.dtype(x), 1))};
  if (m.given("bias")) operands.push_back(m.value("bias"));
  const Expr* made = m.onnx(op_name::LayerNormalization, operands,
                            {{key::Axis, -std::int64_t(shape.size())}, {key::Epsilon, m.real("eps", 1e-5)}});
  return m.give({Aten::of(made)});
}

const Expr* normalised_groups(Aten& m, const Expr* x, std::int64_t groups) {
  return m.onnx(op_name::GroupNormalization, {Aten::of(x), m.per_channel("weight", x, 1), m.per_channel("bias", x, 0)},
                {{key::NumGroups, groups}, {key::Epsilon, m.real("eps", 1e-5)}});
}

Made group_norm(NodeContext& c) {
  Aten m(c);
  return m.done(normalised_groups(m, m.self(), m.integer("num_groups", 1)));
}

Made instance_norm(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  if (!m.truth("use_input_stats", true)) return refuse("it uses running statistics");
  return m.done(m.onnx(op_name::InstanceNormalization,
                       {Aten::of(x), m.per_channel("weight", x, 1), m.per_channel("bias", x, 0)},
                       {{key::Epsilon, m.real("eps", 1e-5)}}));
}

Made pixel_shuffle(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::DepthToSpace, {m.self_value()},
                       {{key::Blocksize, m.integer("upscale_factor", 1)}, {key::Mode, std::string("CRD")}}));
}

Made grid_sampler(NodeContext& c) {
  Aten m(c);
  constexpr std::string_view kModes[] = {"linear", "nearest", "cubic"}, kPadding[] = {"zeros", "border", "reflection"};
  const std::int64_t mode = m.integer("interpolation_mode", 0), padding = m.integer("padding_mode", 0);
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) return refuse("its modes are none of PyTorch's");
  return m.done(m.onnx(op_name::GridSample, {m.value("input"), m.value("grid")},
                       {{key::Mode, std::string(kModes[mode])},
                        {key::PaddingMode, std::string(kPadding[padding])},
                        {key::AlignCorners, std::int64_t(m.truth("align_corners", false))}}));
}

Made einsum(NodeContext& c) {
  Aten m(c);
  return m.done(m.onnx(op_name::Einsum, m.values(m.argument("tensors")), {{key::Equation, m.text("equation", "")}}));
}

Made softmax(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(
      m.onnx(c.target, {Aten::of(m.cast(x, m.result_type(m.dtype(x))))}, {{key::Axis, m.integer("dim", -1)}}));
}

// softmax(query @ key^T * scale + mask) @ value
Made attention(NodeContext& c) {
  Aten m(c);
  if (m.real("dropout_p", 0) != 0 || m.truth("enable_gqa", false))
    return refuse("only attention without dropout and groups is translated");
  const Expr *query = m.tensor("query"), *keys = m.tensor("key"), *mask = m.tensor_if("attn_mask");
  const std::size_t n = m.rank(query);
  if (!m.good() || n < 2) return m.done(m.fail("its query is not a matrix"));
  const double scale = m.given("scale") ? m.real("scale", 1) : 1 / std::sqrt(double(m.size(query, n - 1)));
  Ints turned = iota(0, std::int64_t(n));
  std::swap(turned[n - 1], turned[n - 2]);
  const Expr* scores = m.mul(m.matmul(query, m.permute(keys, turned)), scale);
  if (m.truth("is_causal", false)) {
    if (mask || !m.good()) return m.done(m.fail("it has a mask and is causal"));
    const Expr* ones = m.full({m.dims(query)[n - 2], m.dims(keys)[n - 2]}, DType::Float(32), 1);
    mask = m.cast(m.onnx(op_name::Trilu, {Aten::of(ones)}, {{key::Upper, std::int64_t(0)}}), DType::Bool());
  }
  if (mask && m.dtype(mask).is_bool()) {
    scores = m.where(mask, scores, m.lit(scores, -std::numeric_limits<double>::infinity()));
  } else if (mask) {
    scores = m.add(scores, mask);
  }
  return m.done(
      m.matmul(m.onnx(op_name::Softmax, {Aten::of(scores)}, {{key::Axis, std::int64_t(-1)}}), m.tensor("value")));
}

// ---- reductions ----

Made reduce(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  x = m.cast(x, m.result_type(m.dtype(x)));
  return m.done(m.onnx(c.target, {Aten::of(x), m.known(m.axes("dim", x))},
                       {{key::Keepdims, std::int64_t(m.truth("keepdim", false))}}));
}

namespace {

// The mean of squared differences from the mean, for as many elements less `correction`.
const Expr* variance_of(Aten& m) {
  const Expr* x = m.self();
  const Ints axes = m.axes("dim", x);
  double count = 1;
  for (const std::int64_t a : axes) count *= double(m.size(x, std::size_t(a)));
  const double correction = m.given("correction") ? m.real("correction", 1) : m.truth("unbiased", true) ? 1 : 0;
  if (!m.good()) return nullptr;
  const Expr* difference = m.sub(x, m.onnx(op_name::ReduceMean, {Aten::of(x), m.known(axes)}));
  const Expr* sum = m.onnx(op_name::ReduceSum, {Aten::of(m.mul(difference, difference)), m.known(axes)},
                           {{key::Keepdims, std::int64_t(m.truth("keepdim", false))}});
  return m.div(sum, m.lit(x, std::max(0.0, count - correction)));
}

}  // namespace

Made variance(NodeContext& c) {
  Aten m(c);
  return m.done(variance_of(m));
}

Made deviation(NodeContext& c) {
  Aten m(c);
  return m.done(m.sqrt(variance_of(m)));
}

Made arg_extreme(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const bool flat = !m.given("dim"), keep = m.truth("keepdim", false);
  const std::size_t axes = m.rank(x);
  if (flat) x = m.reshape(x, {ir::product(c.ctx, m.dims(x))});
  const Expr* made =
      m.onnx(c.target, {Aten::of(x)}, {{key::Axis, m.integer("dim", 0)}, {key::Keepdims, std::int64_t(keep)}});
  return m.done(flat ? m.reshape(made, Dims(keep ? axes : 0, c.i64(1))) : made);
}

// (values, indices)
Made extreme_along(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  const std::int64_t keep = m.truth("keepdim", false), axis = m.integer("dim", 0);
  const bool most = c.target == op_name::Max;
  const Expr* values = m.onnx(most ? op_name::ReduceMax : op_name::ReduceMin, {Aten::of(x), m.known(Ints{axis})},
                              {{key::Keepdims, keep}});
  const Expr* places =
      m.onnx(most ? op_name::ArgMax : op_name::ArgMin, {Aten::of(x)}, {{key::Axis, axis}, {key::Keepdims, keep}});
  return m.give({Aten::of(values), Aten::of(places)});
}

Made cumulative_sum(NodeContext& c) {
  Aten m(c);
  const Expr* x = m.self();
  return m.done(
      m.onnx(op_name::CumSum, {Aten::of(m.cast(x, m.result_type(m.dtype(x)))), m.known(Ints{m.integer("dim", 0)})}));
}

Made top_k(NodeContext& c) {
  Aten m(c);
  return m.give(m.onnx_all(op_name::TopK, {m.self_value(), m.known(Ints{m.integer("k", 1)})},
                           {{key::Axis, m.integer("dim", -1)}, {key::Largest, std::int64_t(m.truth("largest", true))}},
                           2));
}

}  // namespace rldb::onnx::aten
