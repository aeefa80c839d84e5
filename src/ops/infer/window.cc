// Type inference: convolutions, pooling, resizing. Detection is in infer/vision.cc.
#include <fmt/format.h>

#include "ops/layout.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/window_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"

namespace rldb::ops::infer {

namespace {
// The spatial letters of n axes: W, HW, DHW.
std::string_view spatial(std::size_t n) { return std::string_view("DHW").substr(3 - n); }

int dims_in_name(const OpInfo& info) {
  for (std::size_t i = 1; i < info.name.size(); ++i)
    if (info.name[i] == 'd' && info.name[i - 1] >= '1' && info.name[i - 1] <= '3') return info.name[i - 1] - '0';
  return 2;
}

// Windows over an axis of `in` elements with padding on both sides.
const Expr* window_count(ir::Context& ctx, const Expr* in, std::int64_t pad_begin, std::int64_t pad_end,
                         const Expr* kernel, std::int64_t stride, std::int64_t dilation, bool ceil_mode) {
  const Expr* reach = ir::mul(ctx, ctx.i64(dilation), ir::sub(ctx, kernel, ctx.i64(1)));
  const Expr* span =
      ir::sub(ctx, ir::add(ctx, in, ctx.i64(pad_begin + pad_end - 1 + (ceil_mode ? stride - 1 : 0))), reach);
  const Expr* steps = stride == 1 ? span : ir::floor_div(ctx, simplify(ctx, span), ctx.i64(stride));
  const Expr* count = simplify(ctx, ir::add(ctx, steps, ctx.i64(1)));
  if (!ceil_mode) return count;
  // A last window that would start beyond the data is left out.
  const Expr* fewer = simplify(ctx, ir::sub(ctx, count, ctx.i64(1)));
  const Expr* last = ir::mul(ctx, fewer, ctx.i64(stride));
  const Expr* end = ir::add(ctx, in, ctx.i64(pad_begin));
  ir::Analyzer analyzer(ctx);
  std::vector<const ir::Var*> vars;
  ir::collect_vars(in, vars);
  for (const ir::Var* v : vars) analyzer.mark_non_negative(v);
  if (analyzer.prove(ir::compare(ctx, ir::BinaryKind::LT, last, end))) return count;
  const Expr* beyond = ir::compare(ctx, ir::BinaryKind::GE, simplify(ctx, last), end);
  if (analyzer.prove(beyond)) return fewer;
  return ctx.intrin(DType::Int(64), ir::intrin::IfThenElse, {beyond, fewer, count});
}

// Sums and products of these numbers stay within 64 bits.
Result<support::Unit> moderate(const OpInfo& info, std::string_view what, const std::vector<std::int64_t>& values) {
  for (std::int64_t v : values)
    if (v > INT32_MAX || v < -INT32_MAX)
      return attr_error(info, what, std::string(what) + " is too large: " + std::to_string(v));
  return support::Unit{};
}

Result<support::Unit> positive(const OpInfo& info, std::string_view what, const std::vector<std::int64_t>& values) {
  for (std::int64_t v : values)
    if (v <= 0)
      return attr_error(info, what,
                        std::string(what) + " is expected to be positive, but the given one is " + std::to_string(v));
  return moderate(info, what, values);
}

Result<support::Unit> fits_layout(const OpInfo& info, const ir::CallSpec& call, const TensorType* x,
                                  const Layout& layout, std::string_view attribute, int argument) {
  if (x->ndim == ir::kUnknownNdim || x->ndim == int(layout.size())) return support::Unit{};
  return type_error(info,
                    "layout " + std::string(attr_string(call, attribute)) + " requires the input to be " +
                        std::to_string(layout.size()) + "-dim tensor, but the given input has ndim " +
                        std::to_string(x->ndim),
                    argument);
}

struct ConvSetting {
  const TensorType* x;
  const TensorType* w;
  const TensorType* like;
  Layout data, kernel, out;
  std::string letters;
  DType dtype;
  std::vector<std::int64_t> strides, padding, dilation;
  std::int64_t groups;
};

Result<ConvSetting> conv_setting(const OpInfo& info, const ir::CallSpec& call) {
  ConvSetting s;
  std::size_t n = std::size_t(dims_in_name(info));
  s.letters = std::string(spatial(n));
  RLDB_TRY(s.x, tensor_arg(info, call, 0));
  RLDB_TRY(s.w, tensor_arg(info, call, 1));
  RLDB_TRY(s.data, layout_of(info, call, op_attr::DataLayout, "NC" + s.letters));
  RLDB_TRY(s.kernel, layout_of(info, call, op_attr::KernelLayout, "OI" + s.letters));
  RLDB_TRY(s.out, layout_of(info, call, op_attr::OutLayout, "NC" + s.letters));
  s.dtype = attr_dtype(call, op_attr::OutDtype);
  if (s.dtype.is_void()) {
    RLDB_TRY(s.dtype, common_dtype(info, {s.x, s.w}));
  }
  RLDB_TRY(s.like, on_equal_device(info, {s.x, s.w}));
  s.strides = *attr_ints(call, op_attr::Strides);
  s.padding = *attr_ints(call, op_attr::Padding);
  RLDB_TRY_VOID(moderate(info, op_attr::Padding, s.padding));
  s.dilation = *attr_ints(call, op_attr::Dilation);
  s.groups = attr_int(call, op_attr::Groups);
  RLDB_TRY_VOID(positive(info, op_attr::Strides, s.strides));
  RLDB_TRY_VOID(positive(info, op_attr::Dilation, s.dilation));
  RLDB_TRY_VOID(positive(info, op_attr::Groups, {s.groups}));
  RLDB_TRY_VOID(fits_layout(info, call, s.x, s.data, op_attr::DataLayout, 0));
  RLDB_TRY_VOID(fits_layout(info, call, s.w, s.kernel, op_attr::KernelLayout, 1));
  return s;
}
Result<support::Unit> groups_divide(const OpInfo& info, std::int64_t groups, const Expr* extent,
                                    std::string_view what) {
  const auto known = ir::const_int(extent);
  if (!known || *known % groups == 0) return support::Unit{};
  return attr_error(info, op_attr::Groups,
                    fmt::format("expects the number of {0} to be divisible by the number of groups, but the number of "
                                "{0} is {1} while the number of groups is {2}",
                                what, *known, groups));
}

}  // namespace

Result<const Type*> conv(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(ConvSetting s, conv_setting(info, call));
  if (!s.x->has_shape || !s.w->has_shape) return typed(make_ndim(ctx, int(s.out.size()), s.dtype, s.like));
  const Expr* in_channels = extent_of(ctx, s.data, s.x->shape, 'C');
  const Expr* kernel_in = simplify(ctx, ir::mul(ctx, extent_of(ctx, s.kernel, s.w->shape, 'I'), ctx.i64(s.groups)));
  if (different_dim(ctx, in_channels, kernel_in))
    return type_error(
        info,
        "the channel size of the data should equal to the product of input channel size of the weight "
        "and the number of groups, but the data channel size is " +
            ir::print_expr(in_channels) + " while the weight input channel size and number of groups are " +
            ir::print_expr(extent_of(ctx, s.kernel, s.w->shape, 'I')) + " and " + std::to_string(s.groups),
        1);
  const Expr* out_channels = extent_of(ctx, s.kernel, s.w->shape, 'O');
  RLDB_TRY_VOID(groups_divide(info, s.groups, out_channels, "output channels"));
  std::vector<std::pair<char, const Expr*>> extents{{'N', extent_of(ctx, s.data, s.x->shape, 'N')},
                                                    {'C', out_channels}};
  std::size_t n = s.letters.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Expr* k = extent_of(ctx, s.kernel, s.w->shape, s.letters[i]);
    const Expr* in = extent_of(ctx, s.data, s.x->shape, s.letters[i]);
    std::int64_t pad = s.padding[i] + s.padding[n + i];
    // in + pad - dilation * (k - 1) - 1, over the stride, plus 1
    const Expr* span = ir::mul(ctx, ctx.i64(s.dilation[i]), ir::sub(ctx, k, ctx.i64(1)));
    const Expr* e = ir::sub(ctx, ir::sub(ctx, ir::add(ctx, in, ctx.i64(pad)), span), ctx.i64(1));
    if (s.strides[i] != 1) e = ir::floor_div(ctx, simplify(ctx, e), ctx.i64(s.strides[i]));
    extents.emplace_back(s.letters[i], simplify(ctx, ir::add(ctx, e, ctx.i64(1))));
  }
  return typed(make_tensor(ctx, shape_in(ctx, s.out, extents), s.dtype, s.like));
}

Result<const Type*> conv_transpose(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(ConvSetting s, conv_setting(info, call));
  auto extra = *attr_ints(call, op_attr::OutputPadding);
  for (std::size_t i = 0; i < extra.size(); ++i)
    if (extra[i] >= s.strides[i] && extra[i] >= s.dilation[i] && extra[i] != 0)
      return attr_error(info, op_attr::OutputPadding,
                        "output_padding should be smaller than the strides, but it is " + std::to_string(extra[i]) +
                            " and the stride is " + std::to_string(s.strides[i]));
  if (!s.x->has_shape || !s.w->has_shape) return typed(make_ndim(ctx, int(s.out.size()), s.dtype, s.like));
  const Expr* in_channels = extent_of(ctx, s.data, s.x->shape, 'C');
  const Expr* kernel_in = extent_of(ctx, s.kernel, s.w->shape, 'I');
  if (different_dim(ctx, in_channels, kernel_in))
    return type_error(info,
                      "the channel size of the data should equal to the input channel size of the weight, but the data "
                      "channel size is " +
                          ir::print_expr(in_channels) + " while the weight input channel size is " +
                          ir::print_expr(kernel_in),
                      1);
  RLDB_TRY_VOID(groups_divide(info, s.groups, in_channels, "input channels"));
  const Expr* out_channels = simplify(ctx, ir::mul(ctx, extent_of(ctx, s.kernel, s.w->shape, 'O'), ctx.i64(s.groups)));
  std::vector<std::pair<char, const Expr*>> extents{{'N', extent_of(ctx, s.data, s.x->shape, 'N')},
                                                    {'C', out_channels}};
  std::size_t n = s.letters.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Expr* k = extent_of(ctx, s.kernel, s.w->shape, s.letters[i]);
    const Expr* in = extent_of(ctx, s.data, s.x->shape, s.letters[i]);
    const Expr* e = ir::mul(ctx, ctx.i64(s.strides[i]), ir::sub(ctx, in, ctx.i64(1)));
    e = ir::sub(ctx, e, ctx.i64(s.padding[i] + s.padding[n + i]));
    e = ir::add(ctx, e, ir::mul(ctx, ctx.i64(s.dilation[i]), ir::sub(ctx, k, ctx.i64(1))));
    e = ir::add(ctx, ir::add(ctx, e, ctx.i64(extra[i])), ctx.i64(1));
    extents.emplace_back(s.letters[i], simplify(ctx, e));
  }
  return typed(make_tensor(ctx, shape_in(ctx, s.out, extents), s.dtype, s.like));
}

Result<const Type*> pool(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::string letters(spatial(std::size_t(dims_in_name(info))));
  RLDB_TRY(Layout layout, layout_of(info, call, op_attr::Layout, "NC" + letters));
  RLDB_TRY(Layout out, layout_of(info, call, op_attr::OutLayout, "NC" + letters));
  const Dims size = attr_dims(ctx, call, op_attr::PoolSize);
  auto strides = *attr_ints(call, op_attr::Strides);
  auto padding = *attr_ints(call, op_attr::Padding);
  RLDB_TRY_VOID(moderate(info, op_attr::Padding, padding));
  auto dilation = *attr_ints(call, op_attr::Dilation);
  RLDB_TRY_VOID(positive(info, op_attr::Strides, strides));
  RLDB_TRY_VOID(positive(info, op_attr::Dilation, dilation));
  for (const Expr* e : size)
    if (auto c = ir::const_int(e)) RLDB_TRY_VOID(positive(info, op_attr::PoolSize, {*c}));
  RLDB_TRY_VOID(fits_layout(info, call, x, layout, op_attr::Layout, 0));
  if (!x->has_shape) return typed(make_ndim(ctx, int(out.size()), x->dtype, x));
  std::vector<std::pair<char, const Expr*>> extents{{'N', extent_of(ctx, layout, x->shape, 'N')},
                                                    {'C', extent_of(ctx, layout, x->shape, 'C')}};
  for (std::size_t i = 0; i < letters.size(); ++i)
    extents.emplace_back(letters[i], window_count(ctx, extent_of(ctx, layout, x->shape, letters[i]), padding[i],
                                                  padding[letters.size() + i], size[i], strides[i], dilation[i],
                                                  attr_bool(call, op_attr::CeilMode)));
  return typed(make_tensor(ctx, shape_in(ctx, out, extents), x->dtype, x));
}

Result<const Type*> adaptive_pool(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::string letters(spatial(std::size_t(dims_in_name(info))));
  RLDB_TRY(Layout layout, layout_of(info, call, op_attr::Layout, "NC" + letters));
  RLDB_TRY(Layout out, layout_of(info, call, op_attr::OutLayout, "NC" + letters));
  RLDB_TRY_VOID(fits_layout(info, call, x, layout, op_attr::Layout, 0));
  if (!x->has_shape) return typed(make_ndim(ctx, int(out.size()), x->dtype, x));
  auto size = attr_ints(call, op_attr::OutputSize);
  std::vector<std::pair<char, const Expr*>> extents{{'N', extent_of(ctx, layout, x->shape, 'N')},
                                                    {'C', extent_of(ctx, layout, x->shape, 'C')}};
  for (std::size_t i = 0; i < letters.size(); ++i)
    extents.emplace_back(letters[i], size ? static_cast<const Expr*>(ctx.i64((*size)[i]))
                                          : extent_of(ctx, layout, x->shape, letters[i]));
  return typed(make_tensor(ctx, shape_in(ctx, out, extents), x->dtype, x));
}

Result<const Type*> resize(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, 1));
  std::string letters(spatial(std::size_t(dims_in_name(info))));
  RLDB_TRY(Layout layout, layout_of(info, call, op_attr::Layout, "NC" + letters));
  DType out = attr_dtype(call, op_attr::OutDtype);
  if (out.is_void()) out = x->dtype;
  if (s->ndim != ir::kUnknownNdim && s->ndim != int(letters.size()))
    return type_error(info,
                      "expects the given output image size to be a " + std::to_string(letters.size()) +
                          "-dim shape, while the given one has ndim " + std::to_string(s->ndim),
                      1);
  RLDB_TRY_VOID(fits_layout(info, call, x, layout, op_attr::Layout, 0));
  auto size = shape_arg_dims(call.args[1]);
  if (!x->has_shape || !size) return typed(make_ndim(ctx, int(layout.size()), out, x));
  std::vector<std::pair<char, const Expr*>> extents{{'N', extent_of(ctx, layout, x->shape, 'N')},
                                                    {'C', extent_of(ctx, layout, x->shape, 'C')}};
  for (std::size_t i = 0; i < letters.size(); ++i) extents.emplace_back(letters[i], (*size)[i]);
  return typed(make_tensor(ctx, shape_in(ctx, layout, extents), out, x));
}

Result<const Type*> grid_sample(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* g, tensor_arg(info, call, 1));
  bool volume = x->ndim == 5;
  RLDB_TRY(Layout layout, layout_of(info, call, op_attr::Layout, volume ? "NCDHW" : "NCHW"));
  RLDB_TRY_VOID(fits_layout(info, call, x, layout, op_attr::Layout, 0));
  if (g->ndim != ir::kUnknownNdim && x->ndim != ir::kUnknownNdim && g->ndim != x->ndim)
    return type_error(info,
                      "expects the grid to have as many dimensions as the data, they have ndim " +
                          std::to_string(g->ndim) + " and " + std::to_string(x->ndim),
                      1);
  if (!x->has_shape || !g->has_shape)
    return typed(make_ndim(ctx, x->ndim == ir::kUnknownNdim ? int(layout.size()) : x->ndim, x->dtype, x));
  std::vector<std::pair<char, const Expr*>> extents{{'N', extent_of(ctx, layout, x->shape, 'N')},
                                                    {'C', extent_of(ctx, layout, x->shape, 'C')}};
  std::string_view letters = volume ? "DHW" : "HW";
  const bool last = coordinates_last(g, letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) extents.emplace_back(letters[i], g->shape[last ? 1 + i : 2 + i]);
  return typed(make_tensor(ctx, shape_in(ctx, layout, extents), x->dtype, x));
}

Result<const Type*> affine_grid(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(shape_arg(info, call, 1));
  auto size = shape_arg_dims(call.args[1]);
  if (x->ndim != ir::kUnknownNdim && x->ndim != 3)
    return type_error(info, "expects the input data to be 3-dim tensor, while it has ndim " + std::to_string(x->ndim),
                      0);
  if (!size) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  const std::size_t dims = size->size();  // of the image: 2, or 3 for a volume
  if (dims != 2 && dims != 3)
    return type_error(
        info, "expects the given size to be a 2-dim or 3-dim shape, while it has ndim " + std::to_string(dims), 1);
  if (!x->has_shape) return typed(make_ndim(ctx, int(dims) + 2, x->dtype, x));
  std::vector<const Expr*> out = {x->shape[0], ctx.i64(std::int64_t(dims))};
  out.insert(out.end(), size->begin(), size->end());
  return typed(make_tensor(ctx, out, x->dtype, x));
}

}  // namespace rldb::ops::infer
