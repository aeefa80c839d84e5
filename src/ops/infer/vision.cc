// Type inference: detection.
#include "ops/layout.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/vision_attr.h"
#include "rldb/ir/printer.h"

namespace rldb::ops::infer {

namespace {
Result<support::Unit> has_ndim(const OpInfo& info, const TensorType* t, int ndim, int argument) {
  if (t->ndim == ir::kUnknownNdim || t->ndim == ndim) return support::Unit{};
  return type_error(info,
                    "expects " + std::string(info.args[std::size_t(argument)].name) + " to be " + std::to_string(ndim) +
                        "-D, got ndim " + std::to_string(t->ndim),
                    argument);
}

// An index into the last axis of the boxes, in [least, extent).
Result<support::Unit> element_index(const OpInfo& info, const ir::CallSpec& call, const TensorType* x,
                                    std::string_view attribute, std::int64_t least) {
  auto extent = x->has_shape ? ir::const_int(x->shape[2]) : std::nullopt;
  const std::int64_t i = attr_int(call, attribute);
  if (i >= least && (!extent || i < *extent)) return support::Unit{};
  return attr_error(info, attribute,
                    "expects " + std::string(attribute) + " to be in range [" + std::to_string(least) + ", " +
                        (extent ? std::to_string(*extent) : std::string("elem_length")) + "), but got " +
                        std::to_string(i));
}

const Type* tensor_or_ndim(ir::Context& ctx, const std::optional<Dims>& dims, int ndim, DType t,
                           const TensorType* like) {
  return make_tensor_or_ndim(ctx, dims, ndim, t, like);
}
}  // namespace

Result<const Type*> all_class_nms(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* boxes, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* scores, tensor_arg(info, call, 1));
  RLDB_TRY_VOID(has_ndim(info, boxes, 3, 0));
  RLDB_TRY_VOID(has_ndim(info, scores, 3, 1));
  std::optional<Dims> rows, per_batch, batches;
  if (boxes->has_shape && scores->has_shape) {
    const Expr* batch = boxes->shape[0];
    const Expr* each = simplify(ctx, ir::mul(ctx, scores->shape[1], boxes->shape[1]));
    rows = Dims{simplify(ctx, ir::mul(ctx, batch, each)), ctx.i64(3)};
    per_batch = Dims{batch, each};
    batches = Dims{batch};
  }
  std::vector<const Type*> fields;
  if (attr_string(call, op_attr::OutputFormat) == "onnx") {
    fields = {tensor_or_ndim(ctx, rows, 2, DType::Int(64), boxes),
              make_tensor(ctx, {ctx.i64(1)}, DType::Int(64), boxes)};
  } else {
    std::optional<Dims> indices = per_batch;
    if (indices) indices->push_back(ctx.i64(2));
    fields = {tensor_or_ndim(ctx, indices, 3, DType::Int(64), boxes),
              tensor_or_ndim(ctx, per_batch, 2, DType::Float(32), boxes),
              tensor_or_ndim(ctx, batches, 1, DType::Int(64), boxes)};
  }
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> get_valid_counts(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(has_ndim(info, x, 3, 0));
  RLDB_TRY_VOID(element_index(info, call, x, op_attr::ScoreIndex, 0));
  RLDB_TRY_VOID(element_index(info, call, x, op_attr::IdIndex, -1));
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
  RLDB_TRY(const TensorType* count, tensor_arg(info, call, 1));
  RLDB_TRY(const TensorType* indices, tensor_arg(info, call, 2));
  RLDB_TRY_VOID(has_ndim(info, x, 3, 0));
  RLDB_TRY_VOID(has_ndim(info, count, 1, 1));
  RLDB_TRY_VOID(has_ndim(info, indices, 2, 2));
  for (int i = 1; i <= 2; ++i) {
    const TensorType* t = i == 1 ? count : indices;
    if (!t->dtype.is_void() && t->dtype != DType::Int(32))
      return type_error(
          info,
          "expects " + std::string(info.args[std::size_t(i)].name) + " to have dtype int32, got " + to_string(t->dtype),
          i);
    if (!x->has_shape || !t->has_shape) continue;
    for (std::size_t d = 0; d < t->shape.size(); ++d)
      if (different_dim(ctx, t->shape[d], x->shape[d]))
        return type_error(info,
                          "expects " + std::string(info.args[std::size_t(i)].name) + " to have shape " +
                              (i == 1 ? "[batch_size]" : "[batch_size, num_anchors]") + ", but the data has shape " +
                              shape_text(x->shape) + " and it has shape " + shape_text(t->shape),
                          i);
  }
  RLDB_TRY_VOID(element_index(info, call, x, op_attr::ScoreIndex, 0));
  RLDB_TRY_VOID(element_index(info, call, x, op_attr::IdIndex, -1));
  if (auto extent = x->has_shape ? ir::const_int(x->shape[2]) : std::nullopt) {
    const std::int64_t start = attr_int(call, op_attr::CoordStart);
    if (start < 0 || start + 3 >= *extent)
      return attr_error(info, op_attr::CoordStart,
                        "expects coord_start to reference four consecutive box coordinates within elem_length " +
                            std::to_string(*extent) + ", but got " + std::to_string(start));
  }
  const TensorType* boxes = x->has_shape ? x : make_ndim(ctx, 3, x->dtype, x);
  if (!attr_bool(call, op_attr::ReturnIndices)) return typed(boxes);
  std::vector<const Type*> fields;
  if (attr_float(call, op_attr::SoftNmsSigma) > 0) fields.push_back(boxes);
  std::optional<Dims> kept, counts;
  if (x->has_shape) {
    kept = Dims{x->shape[0], x->shape[1]};
    counts = Dims{x->shape[0], ctx.i64(1)};
  }
  fields.push_back(tensor_or_ndim(ctx, kept, 2, DType::Int(32), x));
  fields.push_back(tensor_or_ndim(ctx, counts, 2, DType::Int(32), x));
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> roi_align(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* rois, tensor_arg(info, call, 1));
  RLDB_TRY_VOID(has_ndim(info, x, 4, 0));
  RLDB_TRY_VOID(has_ndim(info, rois, 2, 1));
  if (rois->has_shape && different_dim(ctx, rois->shape[1], ctx.i64(5)))
    return type_error(
        info, "expects rois to have shape (num_roi, 5), but got last dimension " + ir::print_expr(rois->shape[1]), 1);
  RLDB_TRY(Layout layout, layout_of(info, call, op_attr::Layout, "NCHW"));
  auto size = *attr_ints(call, op_attr::PooledSize);
  if (!x->has_shape || !rois->has_shape) return typed(make_ndim(ctx, 4, x->dtype, x));
  return typed(make_tensor(ctx,
                           shape_in(ctx, layout,
                                    {{'N', rois->shape[0]},
                                     {'C', extent_of(ctx, layout, x->shape, 'C')},
                                     {'H', ctx.i64(size[0])},
                                     {'W', ctx.i64(size[1])}}),
                           x->dtype, x));
}

namespace {

// Two dims of the inputs that correspond.
Result<support::Unit> agree(ir::Context& ctx, const OpInfo& info, const Expr* have, const Expr* want,
                            std::string_view rule, int argument) {
  if (!different_dim(ctx, have, want)) return support::Unit{};
  return type_error(
      info, std::string(rule) + ", got " + ir::print_expr(have) + " and not " + ir::print_expr(simplify(ctx, want)),
      argument);
}

}  // namespace

Result<const Type*> multibox_transform_loc(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* cls, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* loc, tensor_arg(info, call, 1));
  RLDB_TRY(const TensorType* anchor, tensor_arg(info, call, 2));
  RLDB_TRY_VOID(has_ndim(info, cls, 3, 0));
  RLDB_TRY_VOID(has_ndim(info, loc, 2, 1));
  RLDB_TRY_VOID(has_ndim(info, anchor, 3, 2));
  for (int i = 1; i <= 2; ++i) {
    const TensorType* t = i == 1 ? loc : anchor;
    if (!cls->dtype.is_void() && !t->dtype.is_void() && cls->dtype != t->dtype)
      return type_error(info,
                        "cls_pred and " + std::string(info.args[std::size_t(i)].name) + " dtype must match, got " +
                            to_string(cls->dtype) + " vs " + to_string(t->dtype),
                        i);
  }
  if (auto n = loc->has_shape ? ir::const_int(loc->shape[1]) : std::nullopt; n && *n % 4 != 0)
    return type_error(info, "loc_pred.shape[1] must be divisible by 4, got " + std::to_string(*n), 1);
  if (anchor->has_shape) {
    RLDB_TRY_VOID(agree(ctx, info, anchor->shape[0], ctx.i64(1), "anchor.shape[0] must be 1", 2));
    RLDB_TRY_VOID(agree(ctx, info, anchor->shape[2], ctx.i64(4), "anchor.shape[2] must be 4 (ltrb)", 2));
  }
  if (!cls->has_shape) {
    const TensorType* ranked = make_ndim(ctx, 3, cls->dtype, cls);
    return static_cast<const Type*>(ctx.tuple_type(std::vector<const Type*>{ranked, ranked}));
  }
  const Expr* n = cls->shape[2];
  if (loc->has_shape) {
    RLDB_TRY_VOID(agree(ctx, info, loc->shape[0], cls->shape[0], "cls_pred.shape[0] must match loc_pred.shape[0]", 1));
    RLDB_TRY_VOID(agree(ctx, info, loc->shape[1], ir::mul(ctx, n, ctx.i64(4)),
                        "loc_pred.shape[1] must equal 4*N with N=cls_pred.shape[2]", 1));
  }
  if (anchor->has_shape)
    RLDB_TRY_VOID(agree(ctx, info, anchor->shape[1], n, "anchor.shape[1] must equal N=cls_pred.shape[2]", 2));
  const Type* fields[] = {make_tensor(ctx, {cls->shape[0], n, ctx.i64(4)}, cls->dtype, cls), cls};
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

}  // namespace rldb::ops::infer
