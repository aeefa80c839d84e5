// Type inference: gathers, scatters, slices.
#include "ops/infer/util.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/support/text.h"

namespace rldb::ops::infer {

namespace {
Result<support::Unit> integer_indices(const OpInfo& info, DType t, int argument, std::string_view what = "indices") {
  if (t.is_void() || t.is_int() || t.is_uint()) return support::Unit{};
  return type_error(info,
                    "requires the input " + std::string(what) + " to have integer dtype, but the given " +
                        std::string(what) + " dtype is " + to_string(t),
                    argument);
}

Result<support::Unit> one_of(const OpInfo& info, const ir::CallSpec& call, std::string_view attribute,
                             std::initializer_list<std::string_view> allowed) {
  const std::string_view value = attr_string(call, attribute);
  std::string names;
  for (std::string_view a : allowed) {
    if (a == value) return support::Unit{};
    names += (names.empty() ? "\"" : ", \"") + std::string(a) + "\"";
  }
  return attr_error(info, attribute,
                    std::string(attribute) + " must be one of " + names + ", it is \"" + std::string(value) + "\"");
}

// Data and the values put into it have the same dtype.
Result<support::Unit> same_dtype(const OpInfo& info, const TensorType* data, const TensorType* other,
                                 std::size_t index) {
  if (data->dtype.is_void() || other->dtype.is_void() || data->dtype == other->dtype) return support::Unit{};
  const std::string name(info.args[index].name);
  return type_error(info,
                    "requires the input data to have same type with " + name + ", but the given types are data: " +
                        to_string(data->dtype) + ", " + name + ": " + to_string(other->dtype),
                    int(index));
}
}  // namespace

Result<const Type*> take(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* indices, tensor_or_prim_arg(info, call, 1));
  RLDB_TRY_VOID(integer_indices(info, indices ? indices->dtype : call.args[1]->dtype(), 1));
  RLDB_TRY_VOID(one_of(info, call, op_attr::Mode, {"fast", "wrap", "clip", "nan"}));
  int index_ndim = indices ? indices->ndim : 0;
  const bool flat = attr_is_none(call, op_attr::Axis);
  if (flat && x->ndim != 1 && x->ndim != ir::kUnknownNdim)
    return type_error(info,
                      "expects the input data to be 1-dimensional tensor when the axis is not specified, but the given "
                      "data tensor has ndim " +
                          std::to_string(x->ndim),
                      0);
  RLDB_TRY(int axis, normalize_axis(info, flat ? 0 : attr_int(call, op_attr::Axis), x->ndim));
  if (x->ndim == ir::kUnknownNdim || index_ndim == ir::kUnknownNdim)
    return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  bool index_known = !indices || indices->has_shape || index_ndim == 0;
  bool x_known = x->has_shape || x->ndim == 1;
  if (!index_known || !x_known) return typed(make_ndim(ctx, x->ndim + index_ndim - 1, x->dtype, x));
  Dims dims;
  for (int i = 0; i < x->ndim; ++i) {
    if (i != axis)
      dims.push_back(x->shape[std::size_t(i)]);
    else if (indices && indices->has_shape)
      dims.insert(dims.end(), indices->shape.begin(), indices->shape.end());
  }
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> strided_slice(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::optional<Dims> lists[4];
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    lists[i - 1] = prims_arg(call.args[i]);
    const auto* tuple = ir::as<ir::TupleType>(call.args[i]->type);
    bool good = lists[i - 1] || ir::as<ir::AnyType>(call.args[i]->type) || tuple;
    if (tuple)
      for (const Type* f : tuple->fields) {
        const auto* p = ir::as<ir::PrimType>(f);
        good = good && (p ? p->dtype.is_int() : ir::as<ir::AnyType>(f) != nullptr);
      }
    if (!good)
      return type_error(info,
                        "requires the " + std::string(info.args[i].name) +
                            " argument to be a tuple of int64 values, but its type is `" +
                            ir::print_type(call.args[i]->type) + "`",
                        int(i));
  }
  bool has_strides = call.args.size() > 4;
  for (std::size_t i = 1; i < 4 && lists[0]; ++i)
    if (lists[i] && lists[i]->size() != lists[0]->size())
      return type_error(info,
                        "the axes, begin, end and strides must be all the same length: the axes argument has " +
                            support::counted(lists[0]->size(), "element") + ", while the " +
                            std::string(info.args[i + 1].name) + " argument has " + std::to_string(lists[i]->size()),
                        int(i + 1));
  const bool known = lists[0] && lists[1] && lists[2] && (!has_strides || lists[3]);
  if (x->ndim == ir::kUnknownNdim || !known) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  std::size_t n = lists[0]->size();
  std::vector<std::int64_t> axes;
  for (const Expr* a : *lists[0]) {
    auto c = ir::const_int(a);
    if (!c) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
    axes.push_back(*c);
  }
  RLDB_TRY(auto where, normalize_axes(info, axes, x->ndim, op_attr::Axes));
  if (n == 0) return typed(x);
  const auto shape = known_dims(x);
  if (!shape) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims = *shape;
  bool inbound = attr_bool(call, op_attr::AssumeInbound);
  for (std::size_t i = 0; i < n; ++i) {
    const Expr* stride = has_strides ? (*lists[3])[i] : ctx.i64(1);
    const Expr*& d = dims[std::size_t(where[i])];
    if (ir::is_const(stride, 0)) return type_error(info, "requires stride to be non-zero", 4);
    const Expr* length = slice_length(ctx, (*lists[1])[i], (*lists[2])[i], stride, d, inbound);
    if (!length) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
    d = length;
  }
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> dynamic_strided_slice(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  for (std::size_t i = 1; i < 4; ++i) {
    RLDB_TRY(const TensorType* b, tensor_arg(info, call, i));
    const std::string name(info.args[i].name);
    if (b->ndim != ir::kUnknownNdim && b->ndim != 1)
      return type_error(
          info, "requires " + name + " to be 1d tensor (list of values), but it has ndim " + std::to_string(b->ndim),
          int(i));
    if (!b->dtype.is_void() && b->dtype != DType::Int(64))
      return type_error(
          info, "expects the input " + name + " values to be all int64, but it has dtype " + to_string(b->dtype),
          int(i));
    if (b->has_shape && x->ndim != ir::kUnknownNdim)
      if (auto n = ir::const_int(b->shape[0]); n && *n != x->ndim)
        return type_error(info,
                          "requires the number of indices in " + name + " to equal the number of axes: " + name +
                              " has " + std::to_string(*n) + ", the data has ndim " + std::to_string(x->ndim),
                          int(i));
  }
  return typed(make_ndim(ctx, x->ndim, x->dtype, x));
}

Result<const Type*> gather_elements(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* indices, tensor_arg(info, call, 1));
  RLDB_TRY_VOID(integer_indices(info, indices->dtype, 1));
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  if (x->ndim == ir::kUnknownNdim || indices->ndim == ir::kUnknownNdim)
    return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  if (x->ndim != indices->ndim)
    return type_error(info,
                      "requires data and indices to have the same rank, but data rank is " + std::to_string(x->ndim) +
                          " while indices rank is " + std::to_string(indices->ndim),
                      1);
  return typed(with_shape_of(ctx, indices, x));
}

Result<const Type*> gather_nd(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* indices, tensor_arg(info, call, 1));
  if (!indices->dtype.is_void() && indices->dtype != DType::Int(64))
    return type_error(
        info,
        "requires the input indices to have int64 dtype, but the given indices dtype is " + to_string(indices->dtype),
        1);
  const std::int64_t batch = attr_int(call, op_attr::BatchDims);
  if (x->ndim == ir::kUnknownNdim || indices->ndim == ir::kUnknownNdim)
    return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  if (batch < 0 || batch > x->ndim)
    return attr_error(info, op_attr::BatchDims,
                      "batch_dims must be in range [0, data.ndim], but got batch_dims=" + std::to_string(batch) +
                          ", data.ndim=" + std::to_string(x->ndim));
  if (batch > indices->ndim - 1)
    return attr_error(info, op_attr::BatchDims,
                      "batch_dims cannot exceed indices.ndim-1, but got batch_dims=" + std::to_string(batch) +
                          ", indices.ndim=" + std::to_string(indices->ndim));
  auto depth = indices->has_shape ? ir::const_int(indices->shape.back()) : std::nullopt;
  if (!depth) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  if (*depth < 0 || *depth > x->ndim - batch)
    return type_error(info,
                      "requires the last dimension of indices to be less than or equal to the rank of data minus "
                      "batch_dims, but it is " +
                          std::to_string(*depth) + ", data has rank " + std::to_string(x->ndim) +
                          ", batch_dims=" + std::to_string(batch),
                      1);
  if (!x->has_shape) return typed(make_ndim(ctx, indices->ndim - 1 + x->ndim - int(*depth) - int(batch), x->dtype, x));
  Dims dims(indices->shape.begin(), indices->shape.end() - 1);
  dims.insert(dims.end(), x->shape.begin() + std::ptrdiff_t(batch + *depth), x->shape.end());
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

namespace {

// The index tensors of NumPy's advanced indexing: integers, at most one per axis.
Result<std::vector<const TensorType*>> index_tensors(const OpInfo& info, const ir::CallSpec& call, int data_ndim) {
  RLDB_TRY(auto indices, tensors_arg(info, call, 1));
  if (indices.empty()) return type_error(info, "expects a non-empty tuple of index tensors", 1);
  for (const TensorType* t : indices)
    RLDB_TRY_VOID(integer_indices(info, t->dtype.is_bool() ? DType::Int(64) : t->dtype, 1, "index tensor"));
  if (data_ndim != ir::kUnknownNdim && int(indices.size()) > data_ndim)
    return type_error(info,
                      "the number of index tensors (" + std::to_string(indices.size()) +
                          ") exceeds the data tensor dimensions (" + std::to_string(data_ndim) + ")",
                      1);
  return indices;
}

}  // namespace

Result<const Type*> index_tensor(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(auto indices, index_tensors(info, call, x->ndim));
  std::optional<Dims> shape = Dims{};
  int ndim = 0;
  for (const TensorType* t : indices) {
    ndim = ndim == ir::kUnknownNdim || t->ndim == ir::kUnknownNdim ? ir::kUnknownNdim : std::max(ndim, t->ndim);
    if (!t->has_shape) shape.reset();
    if (!shape) continue;
    RLDB_TRY(shape, broadcast_dims(ctx, info, *shape, dims_of(t)));
  }
  int out_ndim =
      ndim == ir::kUnknownNdim || x->ndim == ir::kUnknownNdim ? ir::kUnknownNdim : ndim + x->ndim - int(indices.size());
  if (!shape || !x->has_shape) return typed(make_ndim(ctx, out_ndim, x->dtype, x));
  shape->insert(shape->end(), x->shape.begin() + std::ptrdiff_t(indices.size()), x->shape.end());
  return typed(make_tensor(ctx, *shape, x->dtype, x));
}

Result<const Type*> index_put(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(auto indices, index_tensors(info, call, x->ndim));
  RLDB_TRY(const TensorType* values, tensor_arg(info, call, 2));
  if (x->ndim != ir::kUnknownNdim && int(indices.size()) != x->ndim)
    return type_error(info,
                      "requires the number of index tensors (" + std::to_string(indices.size()) +
                          ") to match the data tensor dimensions (" + std::to_string(x->ndim) + ")",
                      1);
  RLDB_TRY_VOID(same_dtype(info, x, values, 2));
  return typed(x);
}

Result<const Type*> scatter_elements(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* indices, tensor_arg(info, call, 1));
  RLDB_TRY(const TensorType* updates, tensor_arg(info, call, 2));
  RLDB_TRY_VOID(one_of(info, call, op_attr::Reduction, {"update", "add", "mul", "mean", "max", "min"}));
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  auto differ = [](int a, int b) { return a != ir::kUnknownNdim && b != ir::kUnknownNdim && a != b; };
  if (differ(x->ndim, indices->ndim))
    return type_error(info,
                      "requires the data tensor to have the same rank with indices tensor, but the given dimensions "
                      "are indices: " +
                          std::to_string(indices->ndim) + ", data: " + std::to_string(x->ndim),
                      1);
  if (differ(indices->ndim, updates->ndim))
    return type_error(info,
                      "requires the indices tensor to have the same rank with updates tensor, but the given "
                      "dimensions are indices: " +
                          std::to_string(indices->ndim) + ", updates: " + std::to_string(updates->ndim),
                      2);
  RLDB_TRY_VOID(same_dtype(info, x, updates, 2));
  RLDB_TRY_VOID(integer_indices(info, indices->dtype, 1));
  if (indices->has_shape && updates->has_shape)
    for (std::size_t i = 0; i < indices->shape.size(); ++i)
      if (different_dim(ctx, indices->shape[i], updates->shape[i]))
        return type_error(info,
                          "requires the indices tensor to have the same shape with updates tensor, but the given "
                          "shapes are indices: " +
                              shape_text(indices->shape) + ", updates: " + shape_text(updates->shape),
                          2);
  return typed(x);
}

Result<const Type*> scatter_nd(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* indices, tensor_arg(info, call, 1));
  RLDB_TRY(const TensorType* updates, tensor_arg(info, call, 2));
  RLDB_TRY_VOID(one_of(info, call, op_attr::Reduction, {"update", "add", "mul", "mean", "max", "min"}));
  RLDB_TRY_VOID(same_dtype(info, x, updates, 2));
  RLDB_TRY_VOID(integer_indices(info, indices->dtype, 1));
  if (!x->has_shape || !indices->has_shape || !updates->has_shape) return typed(x);
  const std::string shapes = ", but the given shapes are data: " + shape_text(x->shape) +
                             ", indices: " + shape_text(indices->shape) + ", updates: " + shape_text(updates->shape);
  auto depth = indices->shape.empty() ? std::nullopt : ir::const_int(indices->shape.back());
  if (!depth)
    return type_error(info, "needs a static shape for the last axis of indices, got " + shape_text(indices->shape), 1);
  if (*depth < 0 || *depth > x->ndim)
    return type_error(
        info, "requires the last axis of indices tensor to be less than or equal to the rank of data tensor" + shapes,
        1);
  Dims want(indices->shape.begin(), indices->shape.end() - 1);
  want.insert(want.end(), x->shape.begin() + std::ptrdiff_t(*depth), x->shape.end());
  if (want.size() != updates->shape.size())
    return type_error(info,
                      "requires the updates tensor to have the rank of `data tensor + indices tensor - last axis of "
                      "indices tensor - 1`" +
                          shapes,
                      2);
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!same_dim(ctx, want[i], updates->shape[i]))
      return type_error(info,
                        "requires the updates tensor to have the shape with constraint: `updates.shape = "
                        "indices.shape[:-1] + data.shape[K:]`" +
                            shapes,
                        2);
  return typed(x);
}

Result<const Type*> slice_scatter(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* src, tensor_arg(info, call, 1));
  for (std::size_t i = 2; i < 5; ++i)
    if (!ir::as<ir::PrimType>(call.args[i]->type) || !call.args[i]->dtype().is_integral())
      return type_error(info,
                        "expects `" + std::string(info.args[i].name) + "` to be an integer scalar, but its type is `" +
                            ir::print_type(call.args[i]->type) + "`",
                        int(i));
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  if (x->ndim != ir::kUnknownNdim && src->ndim != ir::kUnknownNdim && x->ndim != src->ndim)
    return type_error(info,
                      "requires the data tensor to have the same rank as the src tensor, but the given dimensions are "
                      "src: " +
                          std::to_string(src->ndim) + ", data: " + std::to_string(x->ndim),
                      1);
  RLDB_TRY_VOID(same_dtype(info, x, src, 1));
  const Expr *start = call.args[2], *end = call.args[3], *step = call.args[4];
  if (auto s = ir::const_int(step); s && *s < 1)
    return type_error(info, "requires the step (" + std::to_string(*s) + ") to be >= 1", 4);
  if (ir::Analyzer(ctx).prove(ir::compare(ctx, ir::BinaryKind::LT, end, start)))
    return type_error(info, "requires start (" + ir::print_expr(start) + ") <= end (" + ir::print_expr(end) + ")", 3);
  if (!x->has_shape || !src->has_shape) return typed(x);
  for (std::size_t i = 0; i < x->shape.size(); ++i)
    if (int(i) != axis && different_dim(ctx, x->shape[i], src->shape[i]))
      return type_error(info,
                        "requires the data tensor to have the same shape as the src tensor except at the scatter axis "
                        "(" +
                            std::to_string(axis) + "): mismatch at dimension " + std::to_string(i) +
                            ", data shape: " + shape_text(x->shape) + ", src shape: " + shape_text(src->shape),
                        1);
  const Expr* span = ir::sub(ctx, ir::add(ctx, ir::sub(ctx, end, start), step), ctx.i64(1));
  const Expr* count = simplify(ctx, ir::floor_div(ctx, span, step));
  if (different_dim(ctx, src->shape[std::size_t(axis)], count))
    return type_error(info,
                      "requires the src tensor's dimension at scatter axis (" + std::to_string(axis) +
                          ") to match the number of elements in the slice: it is " +
                          ir::print_expr(src->shape[std::size_t(axis)]) + ", the slice has " + ir::print_expr(count),
                      1);
  return typed(x);
}

}  // namespace rldb::ops::infer
