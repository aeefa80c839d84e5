// Type inference: reductions, scans, searches.
#include "ops/infer/util.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/order_attr.h"
#include "rldb/ir/printer.h"

namespace rldb::ops::infer {

namespace {

Result<const Type*> reduced(ir::Context& ctx, const OpInfo& info, const TensorType* x,
                            const std::optional<std::vector<std::int64_t>>& axes, bool keepdims, DType out) {
  if (x->ndim == ir::kUnknownNdim) {
    if (!axes && !keepdims) return static_cast<const Type*>(make_tensor(ctx, {}, out, x));
    return static_cast<const Type*>(make_ndim(ctx, ir::kUnknownNdim, out, x));
  }
  std::vector<int> which;
  if (axes) {
    RLDB_TRY(which, normalize_axes(info, *axes, x->ndim));
  } else {
    for (int i = 0; i < x->ndim; ++i) which.push_back(i);
  }
  std::vector<bool> gone(std::size_t(x->ndim), false);
  for (int a : which) gone[std::size_t(a)] = true;
  int ndim = keepdims ? x->ndim : x->ndim - int(which.size());
  bool all_gone = which.size() == std::size_t(x->ndim);
  if (!x->has_shape && !all_gone) return static_cast<const Type*>(make_ndim(ctx, ndim, out, x));
  Dims dims;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i])
      dims.push_back(x->shape[i]);
    else if (keepdims)
      dims.push_back(ctx.i64(1));
  }
  return static_cast<const Type*>(make_tensor(ctx, dims, out, x));
}

}  // namespace

Result<const Type*> reduce(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  return reduced(ctx, info, x, attr_ints(call, op_attr::Axis), attr_bool(call, op_attr::Keepdims), x->dtype);
}

Result<const Type*> argreduce(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  return reduced(ctx, info, x, attr_ints(call, op_attr::Axis), attr_bool(call, op_attr::Keepdims), DType::Int(64));
}

// With one axis also returns the index of the median.
Result<const Type*> median(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto axes = attr_ints(call, op_attr::Axis);
  bool keepdims = attr_bool(call, op_attr::Keepdims);
  RLDB_TRY(const Type* values, reduced(ctx, info, x, axes, keepdims, x->dtype));
  if (!axes || axes->size() != 1) return values;
  RLDB_TRY(const Type* indices, reduced(ctx, info, x, axes, keepdims, DType::Int(64)));
  const Type* both[] = {values, indices};
  return static_cast<const Type*>(ctx.tuple_type(both));
}

Result<const Type*> scan(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  DType out = attr_dtype(call, op_attr::Dtype);
  if (out.is_void()) out = x->dtype;
  if (!attr_is_none(call, op_attr::Axis)) {
    RLDB_TRY_VOID(normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
    return static_cast<const Type*>(with_dtype(ctx, x, out));
  }
  if (!x->has_shape) return static_cast<const Type*>(make_ndim(ctx, 1, out, x));
  return static_cast<const Type*>(make_tensor(ctx, {simplify(ctx, ir::product(ctx, x->shape))}, out, x));
}

Result<const Type*> sort(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  return static_cast<const Type*>(x);
}

Result<const Type*> argsort(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  DType out = attr_dtype(call, op_attr::Dtype);
  return static_cast<const Type*>(with_dtype(ctx, x, out.is_void() ? x->dtype : out));
}

Result<const Type*> topk(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  std::int64_t k = attr_int(call, op_attr::K);
  const TensorType* values = nullptr;
  const TensorType* indices = nullptr;
  DType index_type = attr_dtype(call, op_attr::Dtype);
  if (index_type.is_void()) index_type = x->dtype;
  if (x->has_shape) {
    // All of the axis when k is not positive or too large.
    Dims dims = dims_of(x);
    auto extent = ir::const_int(dims[std::size_t(axis)]);
    if (k > 0 && !(extent && *extent < k)) dims[std::size_t(axis)] = ctx.i64(k);
    values = make_tensor(ctx, dims, x->dtype, x);
    indices = make_tensor(ctx, dims, index_type, x);
  } else {
    values = make_ndim(ctx, x->ndim, x->dtype, x);
    indices = make_ndim(ctx, x->ndim, index_type, x);
  }
  std::string_view ret = attr_string(call, op_attr::RetType);
  if (ret == "values") return static_cast<const Type*>(values);
  if (ret == "indices") return static_cast<const Type*>(indices);
  if (ret != "both")
    return attr_error(
        info, op_attr::RetType,
        "unsupported ret type: it must be \"both\", \"values\" or \"indices\", it is \"" + std::string(ret) + "\"");
  const Type* both[] = {values, indices};
  return static_cast<const Type*>(ctx.tuple_type(both));
}

Result<const Type*> bucketize(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* b, tensor_arg(info, call, 1));
  if (b->ndim != ir::kUnknownNdim && b->ndim != 1)
    return type_error(info, "requires boundaries to be a 1-D array, but got ndim " + std::to_string(b->ndim), 1);
  return static_cast<const Type*>(
      with_dtype(ctx, x, attr_bool(call, op_attr::OutInt32) ? DType::Int(32) : DType::Int(64)));
}

// The number of distinct values is known at run time only; the rank of the first result when an axis is given. The
// indices, inverse indices and counts are vectors. A scalar has one value.
Result<const Type*> unique(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  bool has_axis = call.args.size() > 5;
  std::optional<std::int64_t> axis = has_axis ? ir::const_int(call.args[5]) : std::nullopt;
  if (has_axis && !axis) return type_error(info, "the axis must be a literal", 5);
  if (axis) RLDB_TRY_VOID(normalize_axis(info, *axis, x->ndim));
  for (std::size_t i = 2; i <= 4 && i < call.args.size(); ++i)
    if (!ir::const_int(call.args[i]))
      return type_error(info, std::string(info.args[i].name) + " expects to be a literal", int(i));
  auto flag = [&](std::size_t i) { return call.args.size() > i && ir::const_int(call.args[i]).value_or(0) != 0; };
  auto vector = [&](DType t) { return x->ndim == 0 ? make_tensor(ctx, {ctx.i64(1)}, t, x) : make_ndim(ctx, 1, t, x); };
  std::vector<const Type*> results;
  if (has_axis && x->ndim != 0)
    results.push_back(make_ndim(ctx, x->ndim, x->dtype, x));
  else
    results.push_back(vector(x->dtype));
  for (std::size_t i = 2; i <= 4; ++i)
    if (flag(i)) results.push_back(vector(DType::Int(64)));
  if (results.size() == 1) return results[0];
  return static_cast<const Type*>(ctx.tuple_type(results));
}

Result<const Type*> nonzero(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  return static_cast<const Type*>(make_ndim(ctx, 2, DType::Int(64), x));
}

Result<const Type*> multinomial(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  const TensorType* t[3];
  bool ranked = true;
  bool known = true;
  for (std::size_t i = 0; i < 3; ++i) {
    RLDB_TRY(t[i], tensor_arg(info, call, i));
    const std::string name(info.args[i].name);
    const bool good = t[i]->dtype.is_void() || (i < 2 ? t[i]->dtype.is_float() : t[i]->dtype.is_int());
    if (!good)
      return type_error(info,
                        "requires the input " + name + " to have " + (i < 2 ? "float" : "int") +
                            " dtype, but the given " + name + " dtype is " + to_string(t[i]->dtype),
                        int(i));
    if (t[i]->ndim != ir::kUnknownNdim && t[i]->ndim != 2)
      return type_error(
          info, "requires the input " + name + " to be a 2D tensor, but it has ndim " + std::to_string(t[i]->ndim),
          int(i));
    ranked = ranked && t[i]->ndim == 2;
    known = known && t[i]->has_shape;
  }
  DType out = attr_dtype(call, op_attr::Dtype);
  if (!ranked) return static_cast<const Type*>(make_ndim(ctx, ir::kUnknownNdim, out, t[0]));
  if (!known) return static_cast<const Type*>(make_ndim(ctx, 2, out, t[0]));
  const Expr* n = t[1]->shape[0];
  if (different_dim(ctx, n, t[2]->shape[0]))
    return type_error(
        info,
        "requires the input uniform_sample and sample_indices to have the same batch size, but they have " +
            ir::print_expr(n) + " and " + ir::print_expr(t[2]->shape[0]),
        2);
  for (int i = 1; i <= 2; ++i)
    if (different_dim(ctx, t[i]->shape[1], ctx.i64(1)))
      return type_error(info, "requires the second dimension to be 1, but the shape is " + shape_text(t[i]->shape), i);
  return static_cast<const Type*>(make_tensor(ctx, {n, ctx.i64(1)}, out, t[0]));
}

}  // namespace rldb::ops::infer
