// Type inference: convolutions, pooling, resizing, detection.
#include "ops/layout.h"
#include "rldb/ir/printer.h"

namespace rldb::ops::infer {

namespace {
const Type* typed(const TensorType* t) { return t; }

// The spatial letters of n axes: W, HW, DHW.
std::string_view spatial(std::size_t n) { return std::string_view("DHW").substr(3 - n); }

int dims_in_name(const OpInfo& info) {
  for (std::size_t i = 1; i < info.name.size(); ++i)
    if (info.name[i] == 'd' && info.name[i - 1] >= '1' && info.name[i - 1] <= '3') return info.name[i - 1] - '0';
  return 2;
}

const Expr* window_count(ir::Context& ctx, const Expr* in, std::int64_t pad, std::int64_t kernel, std::int64_t stride,
                         std::int64_t dilation, bool ceil_mode) {
  std::int64_t used = pad - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  const Expr* e = ir::add(ctx, in, ctx.i64(used));
  if (stride != 1) e = ir::floor_div(ctx, e, ctx.i64(stride));
  return simplify(ctx, ir::add(ctx, e, ctx.i64(1)));
}

Result<support::Unit> positive(const OpInfo& info, std::string_view what, const std::vector<std::int64_t>& values) {
  for (std::int64_t v : values)
    if (v <= 0) return type_error(info, std::string(what) + " must be positive, found " + std::to_string(v));
  return support::Unit{};
}

Result<DType> conv_dtype(const OpInfo& info, const ir::CallSpec& call, const TensorType* x, const TensorType* w) {
  DType out = attr_dtype(call, "out_dtype");
  if (!out.is_void()) return out;
  if (!x->dtype.is_void() && !w->dtype.is_void() && x->dtype != w->dtype)
    return type_error(info, "data and weight must have the same dtype when out_dtype is not given, they have " +
                                to_string(x->dtype) + " and " + to_string(w->dtype));
  return x->dtype.is_void() || w->dtype.is_void() ? DType::Void() : x->dtype;
}

struct ConvSetting {
  const TensorType* x;
  const TensorType* w;
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
  RLDB_TRY(s.data, layout_of(info, attr_string(call, "data_layout"), "NC" + s.letters));
  RLDB_TRY(s.kernel, layout_of(info, attr_string(call, "kernel_layout"), "OI" + s.letters));
  RLDB_TRY(s.out, layout_of(info, attr_string(call, "out_layout"), "NC" + s.letters));
  RLDB_TRY(s.dtype, conv_dtype(info, call, s.x, s.w));
  s.strides = *attr_ints(call, "strides");
  s.padding = *attr_ints(call, "padding");
  s.dilation = *attr_ints(call, "dilation");
  s.groups = attr_int(call, "groups");
  RLDB_TRY_VOID(positive(info, "strides", s.strides));
  RLDB_TRY_VOID(positive(info, "dilation", s.dilation));
  RLDB_TRY_VOID(positive(info, "groups", {s.groups}));
  if (s.x->ndim != ir::kUnknownNdim && s.x->ndim != int(s.data.size()))
    return type_error(info,
                      "the data must have " + std::to_string(s.data.size()) + " dims for the layout \"" +
                          std::string(attr_string(call, "data_layout")) + "\", it has " + std::to_string(s.x->ndim),
                      0);
  if (s.w->ndim != ir::kUnknownNdim && s.w->ndim != int(s.kernel.size()))
    return type_error(info,
                      "the weight must have " + std::to_string(s.kernel.size()) + " dims for the layout \"" +
                          std::string(attr_string(call, "kernel_layout")) + "\", it has " + std::to_string(s.w->ndim),
                      1);
  return s;
}
}  // namespace

Result<const Type*> conv(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(ConvSetting s, conv_setting(info, call));
  if (!s.x->has_shape || !s.w->has_shape) return typed(make_ndim(ctx, int(s.out.size()), s.dtype, s.x));
  const Expr* in_channels = extent_of(ctx, s.data, s.x->shape, 'C');
  const Expr* kernel_in = simplify(ctx, ir::mul(ctx, extent_of(ctx, s.kernel, s.w->shape, 'I'), ctx.i64(s.groups)));
  if (different_dim(ctx, in_channels, kernel_in))
    return type_error(info, "the data has " + ir::print_expr(in_channels) + " channels, the weight takes " +
                                ir::print_expr(kernel_in) + " (with " + std::to_string(s.groups) + " groups)");
  const Expr* out_channels = extent_of(ctx, s.kernel, s.w->shape, 'O');
  if (auto o = ir::const_int(out_channels); o && *o % s.groups != 0)
    return type_error(
        info, std::to_string(*o) + " output channels cannot be divided into " + std::to_string(s.groups) + " groups");
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
  return typed(make_tensor(ctx, shape_in(ctx, s.out, extents), s.dtype, s.x));
}

Result<const Type*> conv_transpose(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(ConvSetting s, conv_setting(info, call));
  auto extra = *attr_ints(call, "output_padding");
  for (std::size_t i = 0; i < extra.size(); ++i)
    if (extra[i] >= s.strides[i] && extra[i] >= s.dilation[i] && extra[i] != 0)
      return type_error(info, "output_padding must be smaller than the stride, found " + std::to_string(extra[i]) +
                                  " and " + std::to_string(s.strides[i]));
  if (!s.x->has_shape || !s.w->has_shape) return typed(make_ndim(ctx, int(s.out.size()), s.dtype, s.x));
  const Expr* in_channels = extent_of(ctx, s.data, s.x->shape, 'C');
  const Expr* kernel_in = extent_of(ctx, s.kernel, s.w->shape, 'I');
  if (different_dim(ctx, in_channels, kernel_in))
    return type_error(info, "the data has " + ir::print_expr(in_channels) + " channels, the weight takes " +
                                ir::print_expr(kernel_in));
  if (auto c = ir::const_int(in_channels); c && *c % s.groups != 0)
    return type_error(
        info, std::to_string(*c) + " input channels cannot be divided into " + std::to_string(s.groups) + " groups");
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
  return typed(make_tensor(ctx, shape_in(ctx, s.out, extents), s.dtype, s.x));
}

Result<const Type*> pool(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::string letters(spatial(std::size_t(dims_in_name(info))));
  RLDB_TRY(Layout layout, layout_of(info, attr_string(call, "layout"), "NC" + letters));
  RLDB_TRY(Layout out, layout_of(info, attr_string(call, "out_layout"), "NC" + letters));
  auto size = *attr_ints(call, "pool_size");
  auto strides = *attr_ints(call, "strides");
  auto padding = *attr_ints(call, "padding");
  auto dilation = *attr_ints(call, "dilation");
  RLDB_TRY_VOID(positive(info, "strides", strides));
  RLDB_TRY_VOID(positive(info, "pool_size", size));
  if (x->ndim != ir::kUnknownNdim && x->ndim != int(layout.size()))
    return type_error(info,
                      "the data must have " + std::to_string(layout.size()) + " dims for its layout, it has " +
                          std::to_string(x->ndim),
                      0);
  if (!x->has_shape) return typed(make_ndim(ctx, int(out.size()), x->dtype, x));
  std::vector<std::pair<char, const Expr*>> extents{{'N', extent_of(ctx, layout, x->shape, 'N')},
                                                    {'C', extent_of(ctx, layout, x->shape, 'C')}};
  for (std::size_t i = 0; i < letters.size(); ++i)
    extents.emplace_back(letters[i], window_count(ctx, extent_of(ctx, layout, x->shape, letters[i]),
                                                  padding[i] + padding[letters.size() + i], size[i], strides[i],
                                                  dilation[i], attr_bool(call, "ceil_mode")));
  return typed(make_tensor(ctx, shape_in(ctx, out, extents), x->dtype, x));
}

Result<const Type*> adaptive_pool(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::string letters(spatial(std::size_t(dims_in_name(info))));
  RLDB_TRY(Layout layout, layout_of(info, attr_string(call, "layout"), "NC" + letters));
  RLDB_TRY(Layout out, layout_of(info, attr_string(call, "out_layout"), "NC" + letters));
  if (x->ndim != ir::kUnknownNdim && x->ndim != int(layout.size()))
    return type_error(info,
                      "the data must have " + std::to_string(layout.size()) + " dims for its layout, it has " +
                          std::to_string(x->ndim),
                      0);
  if (!x->has_shape) return typed(make_ndim(ctx, int(out.size()), x->dtype, x));
  auto size = attr_ints(call, "output_size");
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
  RLDB_TRY(Layout layout, layout_of(info, attr_string(call, "layout"), "NC" + letters));
  DType out = attr_dtype(call, "out_dtype");
  if (out.is_void()) out = x->dtype;
  if (s->ndim != ir::kUnknownNdim && s->ndim != int(letters.size()))
    return type_error(
        info, "the size must have " + std::to_string(letters.size()) + " dims, it has " + std::to_string(s->ndim), 1);
  if (x->ndim != ir::kUnknownNdim && x->ndim != int(layout.size()))
    return type_error(info,
                      "the data must have " + std::to_string(layout.size()) + " dims for its layout, it has " +
                          std::to_string(x->ndim),
                      0);
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
  RLDB_TRY(Layout layout, layout_of(info, attr_string(call, "layout"), volume ? "NCDHW" : "NCHW"));
  if (!x->has_shape || !g->has_shape || x->ndim != int(layout.size()))
    return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  if (g->ndim != x->ndim) return type_error(info, "the grid must have as many dims as the data", 1);
  std::vector<std::pair<char, const Expr*>> extents{{'N', extent_of(ctx, layout, x->shape, 'N')},
                                                    {'C', extent_of(ctx, layout, x->shape, 'C')}};
  std::string_view letters = volume ? "DHW" : "HW";
  // The grid is (N, ..., coordinates); TVM also takes coordinates first.
  bool last = ir::is_const(g->shape.back(), std::int64_t(letters.size()));
  for (std::size_t i = 0; i < letters.size(); ++i) extents.emplace_back(letters[i], g->shape[last ? 1 + i : 2 + i]);
  return typed(make_tensor(ctx, shape_in(ctx, layout, extents), x->dtype, x));
}

Result<const Type*> affine_grid(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(shape_arg(info, call, 1));
  auto size = shape_arg_dims(call.args[1]);
  if (x->ndim != ir::kUnknownNdim && x->ndim != 3)
    return type_error(info, "the affine maps must have 3 dims, they have " + std::to_string(x->ndim), 0);
  if (!size) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  const std::size_t dims = size->size();  // of the image: 2, or 3 for a volume
  if (dims != 2 && dims != 3)
    return type_error(info, "the size must have 2 or 3 dims, it has " + std::to_string(dims), 1);
  if (!x->has_shape) return typed(make_ndim(ctx, int(dims) + 2, x->dtype, x));
  std::vector<const Expr*> out = {x->shape[0], ctx.i64(std::int64_t(dims))};
  out.insert(out.end(), size->begin(), size->end());
  return typed(make_tensor(ctx, out, x->dtype, x));
}

Result<const Type*> all_class_nms(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* boxes, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* scores, tensor_arg(info, call, 1));
  std::string_view format = attr_string(call, "output_format");
  for (const TensorType* t : {boxes, scores})
    if (t->ndim != ir::kUnknownNdim && t->ndim != 3)
      return type_error(info, "boxes and scores must have 3 dims, they have " + std::to_string(t->ndim),
                        t == boxes ? 0 : 1);
  if (!boxes->has_shape || !scores->has_shape) return static_cast<const Type*>(ctx.any());
  const Expr* batch = scores->shape[0];
  const Expr* classes = scores->shape[1];
  const Expr* n = boxes->shape[1];
  const Expr* rows = simplify(ctx, ir::mul(ctx, ir::mul(ctx, batch, classes), n));
  std::vector<const Type*> fields;
  if (format == "onnx") {
    fields = {make_tensor(ctx, {rows, ctx.i64(3)}, DType::Int(64), boxes),
              make_tensor(ctx, {ctx.i64(1)}, DType::Int(64), boxes)};
  } else {
    const Expr* per_batch = simplify(ctx, ir::mul(ctx, classes, n));
    fields = {make_tensor(ctx, {batch, per_batch, ctx.i64(2)}, DType::Int(64), boxes),
              make_tensor(ctx, {batch, per_batch}, DType::Float(32), boxes),
              make_tensor(ctx, {batch}, DType::Int(64), boxes)};
  }
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> get_valid_counts(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (x->ndim != ir::kUnknownNdim && x->ndim != 3)
    return type_error(info, "the data must have 3 dims, it has " + std::to_string(x->ndim), 0);
  std::vector<const Type*> fields;
  if (x->has_shape)
    fields = {make_tensor(ctx, {x->shape[0]}, DType::Int(32), x), x,
              make_tensor(ctx, {x->shape[0], x->shape[1]}, DType::Int(32), x)};
  else
    fields = {make_ndim(ctx, 1, DType::Int(32), x), make_ndim(ctx, 3, x->dtype, x),
              make_ndim(ctx, 2, DType::Int(32), x)};
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> non_max_suppression(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (x->ndim != ir::kUnknownNdim && x->ndim != 3)
    return type_error(info, "the data must have 3 dims, it has " + std::to_string(x->ndim), 0);
  bool soft = attr_float(call, "soft_nms_sigma") > 0;
  if (!attr_bool(call, "return_indices")) return typed(x);
  std::vector<const Type*> fields;
  if (soft) fields.push_back(x);
  if (x->has_shape) {
    fields.push_back(make_tensor(ctx, {x->shape[0], x->shape[1]}, DType::Int(32), x));
    fields.push_back(make_tensor(ctx, {x->shape[0], ctx.i64(1)}, DType::Int(32), x));
  } else {
    fields.push_back(make_ndim(ctx, 2, DType::Int(32), x));
    fields.push_back(make_ndim(ctx, 2, DType::Int(32), x));
  }
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> roi_align(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* rois, tensor_arg(info, call, 1));
  if (rois->ndim != ir::kUnknownNdim && rois->ndim != 2)
    return type_error(info, "the regions must have 2 dims, they have " + std::to_string(rois->ndim), 1);
  RLDB_TRY(Layout layout, layout_of(info, attr_string(call, "layout"), "NCHW"));
  auto size = *attr_ints(call, "pooled_size");
  if (!x->has_shape || !rois->has_shape) return typed(make_ndim(ctx, 4, x->dtype, x));
  return typed(make_tensor(ctx,
                           shape_in(ctx, layout,
                                    {{'N', rois->shape[0]},
                                     {'C', extent_of(ctx, layout, x->shape, 'C')},
                                     {'H', ctx.i64(size[0])},
                                     {'W', ctx.i64(size[1])}}),
                           x->dtype, x));
}

Result<const Type*> multibox_transform_loc(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* cls, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(tensor_arg(info, call, 1));
  RLDB_TRY_VOID(tensor_arg(info, call, 2));
  std::vector<const Type*> fields;
  if (cls->has_shape && cls->ndim == 3)
    fields = {make_tensor(ctx, {cls->shape[0], cls->shape[2], ctx.i64(4)}, cls->dtype, cls), cls};
  else
    fields = {make_ndim(ctx, 3, cls->dtype, cls), make_ndim(ctx, 3, cls->dtype, cls)};
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

}  // namespace rldb::ops::infer
