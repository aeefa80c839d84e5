// Type inference: elementwise operators.
#include <algorithm>

#include "ops/infer/util.h"
#include "rldb/ir/op/quantise.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/printer.h"

namespace rldb::ops::infer {

namespace {

Result<const Type*> unary_of(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, bool wants_float,
                             DType out) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (wants_float && !x->dtype.is_void() && !x->dtype.is_float())
    return type_error(
        info, "requires the input tensor to have float dtype, but the given input dtype is " + to_string(x->dtype), 0);
  return static_cast<const Type*>(with_dtype(ctx, x, out.is_void() ? x->dtype : out));
}

DType dtype_of(const ir::CallSpec& call, std::size_t i, const TensorType* t) {
  return t ? t->dtype : call.args[i]->dtype();
}

// Shape of an elementwise operator over its arguments. Beside a tensor, a scalar (null) is a tensor of shape (1,): with
// a tensor of rank 0 the result has rank 1.
Result<const Type*> broadcast_all(ir::Context& ctx, const OpInfo& info, const std::vector<const TensorType*>& types,
                                  DType out, const TensorType* like) {
  const Dims one{ctx.i64(1)};
  int ndim = 0;
  std::optional<Dims> shape = Dims{};
  for (const TensorType* t : types) {
    const int rank = t ? t->ndim : 1;
    ndim = ndim == ir::kUnknownNdim || rank == ir::kUnknownNdim ? ir::kUnknownNdim : std::max(ndim, rank);
    const std::optional<Dims> dims = t ? known_dims(t) : one;
    if (!shape || !dims) {
      shape.reset();
      continue;
    }
    RLDB_TRY(shape, broadcast_dims(ctx, info, *shape, *dims));
  }
  if (shape) return static_cast<const Type*>(make_tensor(ctx, *shape, out, like));
  // Tensors whose shape is held by the same variable.
  const TensorType* first = types.front();
  const bool same_var = std::all_of(types.begin(), types.end(), [&](const TensorType* t) {
    return t && t->shape_var && t->shape_var == first->shape_var;
  });
  if (same_var)
    return static_cast<const Type*>(on_device(ctx, with_dtype(ctx, first, out), like ? like->vdevice : nullptr));
  return static_cast<const Type*>(make_ndim(ctx, ndim, out, like));
}

// Of the arguments from `from` on, scalars among them.
Result<DType> operand_dtype(const OpInfo& info, const ir::CallSpec& call, const std::vector<const TensorType*>& types,
                            std::size_t from = 0) {
  DType out = DType::Void();
  bool unknown = false;
  for (std::size_t i = from; i < types.size(); ++i) {
    DType t = dtype_of(call, i, types[i]);
    if (t.is_void()) {
      unknown = true;
      continue;
    }
    if (!out.is_void() && out != t)
      return type_error(info, "the operands must have the same dtype, found " + to_string(out) + " and " + to_string(t),
                        int(i));
    out = t;
  }
  return unknown ? DType::Void() : out;
}

// Scalars alone are accepted if `scalars` is set: their result is a scalar too.
Result<std::vector<const TensorType*>> operands(const OpInfo& info, const ir::CallSpec& call, bool scalars = false) {
  std::vector<const TensorType*> types;
  bool any_tensor = false;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    RLDB_TRY(const TensorType* t, tensor_or_prim_arg(info, call, i));
    any_tensor = any_tensor || t;
    types.push_back(t);
  }
  if (!any_tensor && !scalars) return type_error(info, "at least one operand must be a tensor");
  return types;
}

bool all_scalars(const std::vector<const TensorType*>& types) {
  return std::all_of(types.begin(), types.end(), [](const TensorType* t) { return t == nullptr; });
}

}  // namespace

Result<const Type*> unary(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return unary_of(ctx, info, call, false, DType::Void());
}
Result<const Type*> unary_float(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return unary_of(ctx, info, call, true, DType::Void());
}
Result<const Type*> unary_check(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return unary_of(ctx, info, call, false, DType::Bool());
}
Result<const Type*> astype(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return unary_of(ctx, info, call, false, attr_dtype(call, op_attr::Dtype));
}

Result<const Type*> binary(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto types, operands(info, call, true));
  RLDB_TRY(DType t, operand_dtype(info, call, types));
  if (all_scalars(types)) return static_cast<const Type*>(ctx.prim(t));
  RLDB_TRY(const TensorType* like, on_equal_device(info, types));
  return broadcast_all(ctx, info, types, t, like);
}

Result<const Type*> compare(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  // Operands of different dtypes are compared in the wider one, as in TVM.
  RLDB_TRY(auto types, operands(info, call, true));
  if (all_scalars(types)) return static_cast<const Type*>(ctx.boolean());
  RLDB_TRY(const TensorType* like, on_equal_device(info, types));
  return broadcast_all(ctx, info, types, DType::Bool(), like);
}

Result<const Type*> where(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto types, operands(info, call));
  DType cond = dtype_of(call, 0, types[0]);
  if (!cond.is_void() && !cond.is_bool())
    return type_error(info,
                      "requires the input condition tensor to have boolean dtype, but the given condition dtype is " +
                          to_string(cond),
                      0);
  RLDB_TRY(DType t, operand_dtype(info, call, types, 1));
  return broadcast_all(ctx, info, types, t, on_common_device(types));
}

Result<const Type*> ewise_fma(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  std::vector<const TensorType*> types;
  for (std::size_t i = 0; i < 3; ++i) {
    RLDB_TRY(const TensorType* t, tensor_arg(info, call, i));
    types.push_back(t);
  }
  RLDB_TRY(DType dtype, common_dtype(info, types));
  const TensorType* like = on_common_device(types);
  int ndim = ir::kUnknownNdim;
  for (const TensorType* t : types) {
    if (t->ndim == ir::kUnknownNdim) continue;
    if (ndim != ir::kUnknownNdim && t->ndim != ndim)
      return type_error(info, "the 3 arguments must have the same number of dimensions, they have " +
                                  std::to_string(ndim) + " and " + std::to_string(t->ndim));
    ndim = t->ndim;
  }
  if (types[0]->shape_var && types[0]->shape_var == types[1]->shape_var && types[0]->shape_var == types[2]->shape_var)
    return static_cast<const Type*>(on_device(ctx, with_dtype(ctx, types[0], dtype), like ? like->vdevice : nullptr));
  bool known = true;
  for (const TensorType* t : types) known = known && t->has_shape;
  for (std::size_t p = 1; known && p < types.size(); ++p)
    for (std::size_t i = 0; i < types[p]->shape.size(); ++i) {
      if (different_dim(ctx, types[0]->shape[i], types[p]->shape[i]))
        return type_error(info,
                          "the 3 arguments must have the same shape, they have " + shape_text(types[0]->shape) +
                              " and " + shape_text(types[p]->shape),
                          int(p));
      known = known && same_dim(ctx, types[0]->shape[i], types[p]->shape[i]);
    }
  return static_cast<const Type*>(
      make_tensor_or_ndim(ctx, known ? std::optional(dims_of(types[0])) : std::nullopt, ndim, dtype, like));
}

Result<const Type*> same_as_input(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (const ir::Attr* axis = ir::find_attr(call.attrs, op_attr::Axis); axis && !axis->is(ir::AttrKind::None))
    RLDB_TRY_VOID(normalize_axis(info, axis->integer, x->ndim));
  return call.args[0]->type;
}

Result<const Type*> identity(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  (void)info;
  return call.args[0]->type;
}

// A checkpoint is marked on a variable: a value that is computed in place has no name to refer to.
Result<const Type*> checkpoint(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  if (!ir::isa<ir::Var>(call.args[0])) return type_error(info, "the argument should be a Var", 0);
  return call.args[0]->type;
}

namespace {

bool is_one_of(DType t, std::initializer_list<std::string_view> names) {
  const std::string text = to_string(t);
  return t.is_void() || std::find(names.begin(), names.end(), text) != names.end();
}

// A scale or zero point is one value, or one for each place of the axis.
Result<support::Unit> check_parameter(ir::Context& ctx, const OpInfo& info, const TensorType* x, const TensorType* p,
                                      int axis, std::size_t index) {
  if (!x->has_shape || !p->has_shape || p->ndim == 0) return support::Unit{};
  const Expr* have = p->shape[0];
  if (p->ndim == 1 && is_one(have)) return support::Unit{};
  if (x->ndim == 0)
    return type_error(info,
                      "size mismatch: the input is a scalar, but size of " + std::string(info.args[index].name) +
                          " param is '" + shape_text(p->shape) + "'",
                      int(index));
  const Expr* want = x->shape[std::size_t(axis)];
  if (p->ndim == 1 && !different_dim(ctx, have, want)) return support::Unit{};
  return type_error(info,
                    "size mismatch: the input shape at dim " + std::to_string(axis) + " is '" + ir::print_expr(want) +
                        "', but size of " + std::string(info.args[index].name) + " param is '" +
                        (p->ndim == 1 ? ir::print_expr(have) : shape_text(p->shape)) + "'",
                    int(index));
}

}  // namespace

Result<const Type*> qdq(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  const bool quantize = info.name == op::Quantize;
  DType out = attr_dtype(call, op_attr::OutDtype);
  if (quantize ? !is_one_of(out, {"int8", "uint8", "int16", "uint16", "float8_e4m3fn", "float8_e5m2"})
               : !is_one_of(out, {"float16", "float32"}))
    return attr_error(info, op_attr::OutDtype,
                      "unsupported output datatype attribute for operation: " + to_string(out));
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* scale, tensor_arg(info, call, 1));
  RLDB_TRY(const TensorType* zero, tensor_arg(info, call, 2));
  const bool good_input = quantize ? is_one_of(x->dtype, {"float16", "float32"})
                                   : is_one_of(x->dtype, {"int8", "uint8", "int16", "uint16", "int32", "float8_e4m3fn",
                                                          "float8_e5m2", "float16", "float32"});
  if (!good_input) return type_error(info, "unsupported input datatype for operation: " + to_string(x->dtype), 0);
  if (!is_one_of(scale->dtype, {"float16", "float32"}))
    return type_error(
        info, "scale param datatype should be one of [float16, float32], but got " + to_string(scale->dtype), 1);
  if (!is_one_of(zero->dtype, {"int8", "uint8", "int16", "uint16", "int32", "uint32", "float16"}))
    return type_error(info,
                      "zero_point param datatype should be one of [int8, uint8, int16, uint16, int32, uint32, "
                      "float16], but got " +
                          to_string(zero->dtype),
                      2);
  std::int64_t axis = attr_int(call, op_attr::Axis);
  if (x->ndim != ir::kUnknownNdim && (x->ndim > 0 || (axis != -1 && axis != 0))) {
    if (axis < -x->ndim || axis >= x->ndim)
      return attr_error(info, op_attr::Axis,
                        "axis param is out of range (" + std::to_string(axis) + "): the input tensor has " +
                            std::to_string(x->ndim) + " dimensions");
    if (axis < 0) axis += x->ndim;
  }
  RLDB_TRY_VOID(check_parameter(ctx, info, x, scale, int(axis), 1));
  RLDB_TRY_VOID(check_parameter(ctx, info, x, zero, int(axis), 2));
  return static_cast<const Type*>(with_dtype(ctx, x, out));
}

}  // namespace rldb::ops::infer
