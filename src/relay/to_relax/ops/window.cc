// Operators that slide a window over the spatial axes of a layout, and those that scale images.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "relay/to_relax/ops/kernels.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/image.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/image_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/window_attr.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/layout.h"

namespace rldb::to_relax::translations {

Made relaid(OpCall& o, const Expr* data, std::string_view source, std::string_view wanted);

ir::Result<Ints> order(std::string_view from, std::string_view to) {
  Ints axes;
  for (const char c : to) {
    const std::size_t at = from.find(c);
    if (at == std::string_view::npos || from.size() != to.size())
      return refuse(fmt::format("the layout {} is not one of {}", from, to));
    axes.push_back(std::int64_t(at));
  }
  return axes;
}

namespace {

constexpr std::string_view kSpatial = "DHW";

const ir::Attr* ints_or(OpCall& o, std::string_view name, std::int64_t fallback) {
  return o.ints_attr(o.ints(name).value_or(Ints{fallback}));
}
const ir::Attr* text(OpCall& o, std::string_view name) { return o.ctx.attr(o.string(name)); }
// An empty text means the operator's default.
const ir::Attr* text_or_none(OpCall& o, std::string_view name) {
  return o.string(name).empty() ? o.ctx.attr_none() : text(o, name);
}
const ir::Attr* dtype_or_none(OpCall& o, std::string_view name) {
  const auto t = o.dtype(name);
  return t ? o.ctx.attr(*t) : o.ctx.attr_none();
}

using Attrs = std::vector<ir::NamedAttr>;

Attrs joined(Attrs all, const Attrs& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Attrs window_attrs(OpCall& o) {
  return {{op_attr::Strides, ints_or(o, relay::field::Strides, 1)},
          {op_attr::Padding, ints_or(o, relay::field::Padding, 0)},
          {op_attr::Dilation, ints_or(o, relay::field::Dilation, 1)}};
}

// Attributes of a convolution with operands in these layouts, which are plain ones.
Attrs conv_attrs(OpCall& o, std::string_view layout, std::string_view kernel_layout) {
  return joined(window_attrs(o), {{op_attr::Groups, o.ctx.attr(o.integer(relay::field::Groups).value_or(1))},
                                  {op_attr::DataLayout, o.ctx.attr(layout)},
                                  {op_attr::KernelLayout, o.ctx.attr(kernel_layout)},
                                  {op_attr::OutDtype, dtype_or_none(o, relay::field::OutDtype)}});
}

Ints spatial_axes(std::string_view layout) {
  Ints axes;
  for (const char c : kSpatial)
    if (const auto at = layout.find(c); at != std::string_view::npos) axes.push_back(std::int64_t(at));
  return axes;
}

std::string with_spatial(std::string_view before, std::size_t axes) {
  return std::string(before) + std::string(kSpatial.substr(3 - axes));
}

}  // namespace

namespace {

// A layout without its inner axes.
std::string outer_letters(std::string_view layout) {
  std::string letters;
  for (const char c : layout)
    if (c >= 'A' && c <= 'Z') letters += c;
  return letters;
}
bool is_packed(std::string_view layout) { return outer_letters(layout) != layout; }

// Channel blocks are merged, and split again afterwards.
Made packed_conv(OpCall& o) {
  const std::string_view layout = o.string(relay::field::DataLayout),
                         kernel_layout = o.string(relay::field::KernelLayout);
  const std::string plain = outer_letters(layout), plain_kernel = outer_letters(kernel_layout);
  RLDB_TRY(const Expr* data, relaid(o, o.arg(0), layout, plain));
  RLDB_TRY(const Expr* weight, relaid(o, o.arg(1), kernel_layout, plain_kernel));
  RLDB_TRY(const Expr* made, o.emit(o.target, {data, weight}, conv_attrs(o, plain, plain_kernel)));
  const std::string_view wanted =
      o.string(relay::field::OutLayout).empty() ? layout : o.string(relay::field::OutLayout);
  return relaid(o, made, plain, wanted);
}

}  // namespace

// A depthwise convolution with several filters per channel has the weight (channels, filters, ..): Relax expects them
// in one axis.
Made conv(OpCall& o) {
  if (is_packed(o.string(relay::field::DataLayout)) || is_packed(o.string(relay::field::KernelLayout)))
    return packed_conv(o);
  const std::string_view layout = o.string(relay::field::DataLayout);
  std::string kernel_layout(o.string(relay::field::KernelLayout));
  const std::int64_t groups = o.integer(relay::field::Groups).value_or(1);
  const Expr* weight = o.arg(1);
  RLDB_TRY(const Dims dims, o.dims(1));
  const std::size_t out = kernel_layout.find('O'), in = kernel_layout.find('I');
  if (out >= dims.size() || in >= dims.size())
    return refuse(fmt::format("the layout {} has inner axes", kernel_layout));
  const auto channels = int_of(dims[out]), filters = int_of(dims[in]);
  const bool has_window = dims.size() >= 3 && dims.size() <= 5;
  if (has_window && groups > 1 && channels == groups && filters && *filters != 1) {
    const std::string plain = with_spatial("OI", dims.size() - 2);
    RLDB_TRY(const Ints axes, order(kernel_layout, plain));
    RLDB_TRY(weight, o.permute(weight, axes));
    RLDB_TRY(Dims shape, o.dims_of(weight));
    shape[0] = o.i64(*channels * *filters);
    shape[1] = o.i64(1);
    RLDB_TRY(weight, o.reshape(weight, shape));
    kernel_layout = plain;
  }
  return o.call(
      o.target, {o.arg(0), weight},
      joined(conv_attrs(o, layout, kernel_layout), {{op_attr::OutLayout, text_or_none(o, relay::field::OutLayout)}}));
}

// The weight is (in, out / groups, window) whatever its layout is called.
Made conv_transpose(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  if (t->ndim < 3 || t->ndim > 5) return refuse("its data has no batch, channels and window");
  const std::size_t axes = std::size_t(t->ndim) - 2;
  const std::string plain = with_spatial("NC", axes), named = with_spatial("IO", axes);
  const std::string_view layout = o.string(relay::field::DataLayout);
  const std::string_view kernel_layout = o.string(relay::field::KernelLayout);
  if (kernel_layout != named && kernel_layout != with_spatial("OI", axes))
    return refuse(fmt::format("the layout {} of its weight is not {}", kernel_layout, named));
  RLDB_TRY(const Ints there, order(layout, plain));
  RLDB_TRY(const Expr* data, o.permute(o.arg(0), there));
  RLDB_TRY(const Expr* made, o.emit(o.target, {data, o.arg(1)},
                                    joined(conv_attrs(o, plain, named),
                                           {{op_attr::OutputPadding, ints_or(o, relay::field::OutputPadding, 0)}})));
  const std::string_view wanted =
      o.string(relay::field::OutLayout).empty() ? layout : o.string(relay::field::OutLayout);
  RLDB_TRY(const Ints back, order(plain, wanted));
  return o.permute(made, back);
}

namespace {

Attrs pool_attrs(OpCall& o) {
  return joined(window_attrs(o), {{op_attr::PoolSize, ints_or(o, relay::field::PoolSize, 1)},
                                  {op_attr::CeilMode, o.ctx.attr(o.flag(relay::field::CeilMode))},
                                  {op_attr::CountIncludePad, o.ctx.attr(o.flag(relay::field::CountIncludePad))},
                                  {op_attr::Layout, text(o, relay::field::Layout)}});
}

Made in_out_layout(OpCall& o, const Expr* x) {
  const std::string_view wanted = o.string(relay::field::OutLayout);
  if (wanted.empty() || wanted == o.string(relay::field::Layout)) return x;
  RLDB_TRY(const Ints axes, order(o.string(relay::field::Layout), wanted));
  return o.permute(o.bind(x), axes);
}

}  // namespace

Made pool(OpCall& o) {
  RLDB_TRY(const Expr* made, o.call(o.target, {o.arg(0)}, pool_attrs(o)));
  return in_out_layout(o, made);
}

// Operands: the gradient of the result, the data.
Made pool_grad(OpCall& o) {
  return o.call(o.target, o.args,
                joined(pool_attrs(o), {{op_attr::OutLayout, text_or_none(o, relay::field::OutLayout)}}));
}

// Over all spatial axes.
Made global_pool(OpCall& o) {
  RLDB_TRY(const Expr* made, o.call(o.target, {o.arg(0)},
                                    {{op_attr::Axis, o.ints_attr(spatial_axes(o.string(relay::field::Layout)))},
                                     {op_attr::Keepdims, o.ctx.attr(true)}}));
  return in_out_layout(o, made);
}

namespace {

// The sizes of the result's spatial axes; those of the data if none are given.
ir::Result<Dims> pooled_sizes(OpCall& o, const Ints& axes) {
  RLDB_TRY(const Dims dims, o.dims(0));
  const Ints sizes = o.ints(relay::field::OutputSize).value_or(Ints());
  Dims made;
  for (std::size_t i = 0; i < axes.size(); ++i)
    made.push_back(sizes.empty()       ? dims[std::size_t(axes[i])]
                   : sizes.size() == 1 ? o.i64(sizes[0])
                   : i < sizes.size()  ? o.i64(sizes[i])
                                       : o.i64(1));
  for (const std::int64_t s : sizes)
    if (s < 1) return refuse("a size of its result is not positive");
  return made;
}

}  // namespace

Made adaptive_avg_pool(OpCall& o) {
  const Ints axes = spatial_axes(o.string(relay::field::Layout));
  RLDB_TRY(const Dims sizes, pooled_sizes(o, axes));
  Ints literal;
  for (const Expr* d : sizes)
    if (const auto v = int_of(d)) literal.push_back(*v);
  if (literal.size() != sizes.size()) return refuse("the size of its result is not known");
  RLDB_TRY(const Expr* made,
           o.call(o.target, {o.arg(0)},
                  {{op_attr::OutputSize, o.ints_attr(literal)}, {op_attr::Layout, text(o, relay::field::Layout)}}));
  return in_out_layout(o, made);
}

// The largest element between floor(i * in / out) and ceil((i + 1) * in / out).
Made adaptive_max_pool(OpCall& o) {
  const Ints axes = spatial_axes(o.string(relay::field::Layout));
  RLDB_TRY(const Dims sizes, pooled_sizes(o, axes));
  ir::Context& ctx = o.ctx;
  RLDB_TRY(const Expr* made, o.kernel("relay_adaptive_max_pool", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    Dims to(x->shape.begin(), x->shape.end());
    std::vector<ir::IterVar> window;
    std::vector<const Expr*> from;  // per spatial axis
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const Expr*& dim = to[std::size_t(axes[k])];
      const Expr* size = te.map(sizes[k]);
      // No window is longer than this.
      window.push_back(te.graph.reduce_axis(
          ir::add(ctx, ir::floor_div(ctx, ir::sub(ctx, ir::add(ctx, dim, size), ctx.i64(1)), size), ctx.i64(1)),
          fmt::format("r{}", k)));
      dim = size;
    }
    return {te.graph.reduce(
        to,
        [&](te::Indices i) {
          Dims at(i.begin(), i.end());
          const Expr* inside = nullptr;
          for (std::size_t k = 0; k < axes.size(); ++k) {
            const auto axis = std::size_t(axes[k]);
            const Expr *in = x->shape[axis], *size = to[axis];
            const Expr* begin = ir::floor_div(ctx, ir::mul(ctx, i[axis], in), size);
            const Expr* next = ir::mul(ctx, ir::add(ctx, i[axis], ctx.i64(1)), in);
            const Expr* end = ir::floor_div(ctx, ir::sub(ctx, ir::add(ctx, next, size), ctx.i64(1)), size);
            at[axis] = ir::add(ctx, begin, window[k].var);
            const Expr* here = ir::compare(ctx, ir::BinaryKind::LT, at[axis], end);
            inside = inside ? ir::logical_and(ctx, inside, here) : here;
          }
          return static_cast<const Expr*>(ctx.intrin(x->dtype, ir::intrin::IfThenElse,
                                                     {inside, te.graph.load(x, at), ir::min_value(ctx, x->dtype)}));
        },
        window, te.graph.max_reducer(x->dtype), "T_adaptive_max_pool")};
  }));
  return in_out_layout(o, made);
}

// ---- images ----

namespace {

constexpr double kMostScale = 1e6;

// The spatial dims of the data, each multiplied by its scale.
ir::Result<Dims> scaled(OpCall& o, const Ints& axes, const std::vector<double>& scales) {
  RLDB_TRY(const Dims dims, o.dims(0));
  Dims size;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (!(scales[k] > 0) || scales[k] > kMostScale) return refuse("a scale is not positive, or larger than a million");
    const Expr* d = dims[std::size_t(axes[k])];
    if (const auto known = int_of(d))
      size.push_back(o.i64(std::int64_t(std::round(double(*known) * scales[k]))));
    else if (scales[k] == std::floor(scales[k]))
      size.push_back(ir::mul(o.ctx, d, o.i64(std::int64_t(scales[k]))));
    else
      return refuse("the size of its result is not known");
  }
  return size;
}

// The same with scales that are operands.
ir::Result<Dims> scaled_by_operands(OpCall& o, const Ints& axes) {
  RLDB_TRY(const Dims dims, o.dims(0));
  constexpr DType kWide = DType::Float(64);
  Exprs parts;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const Dims dim{dims[std::size_t(axes[k])]};
    RLDB_TRY(const Expr* size, o.emit(op::ShapeToTensor, {o.ctx.shape(dim)}));
    RLDB_TRY(const Expr* wide, o.cast(size, kWide));
    RLDB_TRY(const Expr* scale, o.cast(o.arg(1 + k), kWide));
    RLDB_TRY(const Expr* one, o.reshape(scale, {o.i64(1)}));
    RLDB_TRY(const Expr* times, o.emit(op::Multiply, {wide, one}));
    RLDB_TRY(const Expr* half_more, o.emit(op::Add, {times, o.scalar(kWide, 0.5)}));
    RLDB_TRY(const Expr* whole, o.emit(op::Floor, {half_more}));
    RLDB_TRY(const Expr* narrow, o.cast(whole, DType::Int(64)));
    parts.push_back(narrow);
  }
  RLDB_TRY(const Expr* sizes, o.emit(op::Concat, {o.ctx.tuple(parts)}, {{op_attr::Axis, o.ctx.attr(0)}}));
  return o.dims_of_values(sizes, axes.size());
}

// Relax calls "bilinear" and "bicubic" linear and cubic.
std::string_view plain_method(std::string_view method) {
  for (const std::string_view prefix : {"bi", "tri"})
    if (method.starts_with(prefix)) return method.substr(prefix.size());
  return method;
}

Made upsampled2d(OpCall& o, const Dims& size, std::string_view layout, std::string_view method, bool corners) {
  return o.call(op::ImageResize2d, {o.arg(0), o.ctx.shape(size)},
                {{op_attr::Layout, o.ctx.attr(layout)},
                 {op_attr::Method, o.ctx.attr(plain_method(method))},
                 {op_attr::CoordinateTransformationMode, o.ctx.attr(corners ? "align_corners" : "asymmetric")},
                 {op_attr::RoundingMethod, o.ctx.attr(corners ? "round" : "floor")},
                 {op_attr::CubicAlpha, o.ctx.attr(-0.5)}});
}

Made upsampled3d(OpCall& o, const Dims& size, std::string_view layout, std::string_view method, std::string_view mode) {
  return o.call(op::ImageResize3d, {o.arg(0), o.ctx.shape(size)},
                {{op_attr::Layout, o.ctx.attr(layout)},
                 {op_attr::Method, o.ctx.attr(plain_method(method))},
                 {op_attr::CoordinateTransformationMode, o.ctx.attr(mode)},
                 {op_attr::CubicAlpha, o.ctx.attr(-0.5)}});
}

}  // namespace

Made upsampling(OpCall& o) {
  const std::string_view layout = o.string(relay::field::Layout);
  const Ints axes = spatial_axes(layout);
  if (axes.size() != 2) return refuse(fmt::format("the layout {} is of no image", layout));
  RLDB_TRY(const Dims size, scaled(o, axes, {o.real(relay::field::ScaleH), o.real(relay::field::ScaleW)}));
  return upsampled2d(o, size, layout, o.string(relay::field::Method), o.flag(relay::field::AlignCorners));
}

Made upsampling3d(OpCall& o) {
  const std::string_view layout = o.string(relay::field::Layout);
  const Ints axes = spatial_axes(layout);
  if (axes.size() != 3) return refuse(fmt::format("the layout {} is of no volume", layout));
  RLDB_TRY(const Dims size,
           scaled(o, axes, {o.real(relay::field::ScaleD), o.real(relay::field::ScaleH), o.real(relay::field::ScaleW)}));
  return upsampled3d(o, size, layout, o.string(relay::field::Method),
                     o.string(relay::field::CoordinateTransformationMode));
}

// Operands: the data, a scale for each spatial axis.
Made dyn_upsampling(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  const bool volume = t->ndim == 5;
  const std::string_view layout = text_attr(o, relay::field::Layout, volume ? "NCDHW" : "NCHW");
  const Ints axes = spatial_axes(layout);
  if (layout.size() != std::size_t(t->ndim) || axes.size() + 1 != o.args.size() || axes.size() < 2)
    return refuse(fmt::format("the layout {} does not fit its operands", layout));
  RLDB_TRY(const Dims size, scaled_by_operands(o, axes));
  const std::string_view method = text_attr(o, relay::field::Method, volume ? "trilinear" : "nearest_neighbor");
  if (volume)
    return upsampled3d(o, size, layout, method, text_attr(o, relay::field::CoordinateTransformationMode, "half_pixel"));
  return upsampled2d(o, size, layout, method, o.flag(relay::field::AlignCorners));
}

namespace {

Made resized(OpCall& o, std::string_view target, const Expr* x, const Ints& size, std::string_view layout) {
  Dims dims;
  for (const std::int64_t d : size) dims.push_back(o.i64(d));
  return o.call(target, {x, o.ctx.shape(dims)},
                {{op_attr::Layout, o.ctx.attr(layout)},
                 {op_attr::Method, text(o, relay::field::Method)},
                 {op_attr::CoordinateTransformationMode, text(o, relay::field::CoordinateTransformationMode)},
                 {op_attr::RoundingMethod, text(o, relay::field::RoundingMethod)},
                 {op_attr::CubicAlpha, o.ctx.attr(o.real(relay::field::CubicAlpha))},
                 {op_attr::CubicExclude, o.ctx.attr(o.integer(relay::field::CubicExclude).value_or(0))},
                 {op_attr::ExtrapolationValue, o.ctx.attr(o.real(relay::field::ExtrapolationValue))},
                 {op_attr::OutDtype, dtype_or_none(o, relay::field::OutDtype)}});
}

}  // namespace

Made resize(OpCall& o) {
  const auto size = o.ints(relay::field::Size);
  if (!size) return refuse("its size is not known");
  return resized(o, o.target, o.arg(0), *size, o.string(relay::field::Layout));
}

// Operands: the data, the size, and the part to be resized, which is the whole.
Made dyn_resize2d(OpCall& o) {
  RLDB_TRY(const Dims size, o.dims_of_values(o.arg(1), 2));
  const relay::AttrValue *alpha = o.attr(relay::field::CubicAlpha), *outside = o.attr(relay::field::ExtrapolationValue);
  if (text_attr(o, relay::field::CoordinateTransformationMode, "half_pixel") == "tf_crop_and_resize")
    return refuse("the part that is resized is an operand");
  return o.call(op::ImageResize2d, {o.arg(0), o.ctx.shape(size)},
                {{op_attr::Layout, o.ctx.attr(text_attr(o, relay::field::Layout, "NCHW"))},
                 {op_attr::Method, o.ctx.attr(plain_method(text_attr(o, relay::field::Method, "linear")))},
                 {op_attr::CoordinateTransformationMode,
                  o.ctx.attr(text_attr(o, relay::field::CoordinateTransformationMode, "half_pixel"))},
                 {op_attr::RoundingMethod, o.ctx.attr(text_attr(o, relay::field::RoundingMethod, "round"))},
                 {op_attr::CubicAlpha, o.ctx.attr(alpha ? alpha->real : -0.5)},
                 {op_attr::ExtrapolationValue, o.ctx.attr(outside ? outside->real : 0.0)},
                 {op_attr::OutDtype, dtype_or_none(o, relay::field::OutDtype)}});
}

// An image of one row.
Made resize1d(OpCall& o) {
  auto size = o.ints(relay::field::Size);
  const std::string_view layout = o.string(relay::field::Layout);
  if (!size || size->size() != 1 || layout.size() != 3) return refuse("its size is not known");
  const auto width = std::int64_t(layout.find('W'));
  std::string with_row(layout);
  with_row.insert(std::size_t(width), "H");
  RLDB_TRY(const Expr* rows, o.expand(o.arg(0), {width}));
  size->insert(size->begin(), 1);
  RLDB_TRY(const Expr* made, resized(o, op::ImageResize2d, rows, *size, with_row));
  return o.call(op::Squeeze, {o.bind(made)}, {{op_attr::Axis, o.ints_attr({width})}});
}

// ---- blocks of channels and space ----

namespace {

// Converts to NCHW and back.
template <class F>
Made as_nchw(OpCall& o, F&& make) {
  const std::string_view layout = o.string(relay::field::Layout);
  RLDB_TRY(const Ints there, order(layout, "NCHW"));
  RLDB_TRY(const Expr* x, o.permute(o.arg(0), there));
  RLDB_TRY(const Expr* made, make(x));
  RLDB_TRY(const Ints back, order("NCHW", layout));
  return o.permute(o.bind(made), back);
}

}  // namespace

Made depth_to_space(OpCall& o) {
  const std::int64_t b = o.integer(relay::field::BlockSize).value_or(1);
  return as_nchw(o, [&](const Expr* x) -> Made {
    RLDB_TRY(const Dims d, o.dims_of(x));
    const Expr *n = o.i64(b), *deep = ir::floor_div(o.ctx, d[1], o.i64(b * b));
    const bool columns = o.string(relay::field::Mode) == "DCR";
    RLDB_TRY(const Expr* split,
             o.reshape(x, columns ? Dims{d[0], n, n, deep, d[2], d[3]} : Dims{d[0], deep, n, n, d[2], d[3]}));
    RLDB_TRY(const Expr* moved, o.permute(split, columns ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3}));
    return o.reshape(moved, {d[0], deep, ir::mul(o.ctx, d[2], n), ir::mul(o.ctx, d[3], n)});
  });
}

Made space_to_depth(OpCall& o) {
  const std::int64_t b = o.integer(relay::field::BlockSize).value_or(1);
  return as_nchw(o, [&](const Expr* x) -> Made {
    RLDB_TRY(const Dims d, o.dims_of(x));
    const Expr *n = o.i64(b), *high = ir::floor_div(o.ctx, d[2], n), *wide = ir::floor_div(o.ctx, d[3], n);
    RLDB_TRY(const Expr* split, o.reshape(x, {d[0], d[1], high, n, wide, n}));
    RLDB_TRY(const Expr* moved, o.permute(split, {0, 3, 5, 1, 2, 4}));
    return o.reshape(moved, {d[0], ir::mul(o.ctx, d[1], o.i64(b * b)), high, wide});
  });
}

// Elements `stride` apart, and the value between them.
Made dilate(OpCall& o) {
  const Ints strides = o.ints(relay::field::Strides).value_or(Ints());
  const double value = o.real(relay::field::DilationValue);
  ir::Context& ctx = o.ctx;
  return o.kernel("relay_dilate", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    Dims to;
    for (std::size_t k = 0; k < x->shape.size(); ++k)
      to.push_back(ir::add(ctx, ir::mul(ctx, ir::sub(ctx, x->shape[k], ctx.i64(1)), ctx.i64(strides[k])), ctx.i64(1)));
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          Dims at;
          const Expr* hit = ctx.bool_imm(true);
          for (std::size_t k = 0; k < x->shape.size(); ++k) {
            at.push_back(ir::floor_div(ctx, i[k], ctx.i64(strides[k])));
            if (strides[k] != 1)
              hit = ir::logical_and(
                  ctx, hit,
                  ir::compare(ctx, ir::BinaryKind::EQ, ir::floor_mod(ctx, i[k], ctx.i64(strides[k])), ctx.i64(0)));
          }
          return static_cast<const Expr*>(
              ctx.intrin(x->dtype, ir::intrin::IfThenElse, {hit, te.graph.load(x, at), ctx.literal(x->dtype, value)}));
        },
        "T_dilate")};
  });
}

}  // namespace rldb::to_relax::translations
