// Type inference: elementwise operators.
#include "ops/infer_util.h"
#include "rldb/ir/printer.h"

namespace rldb::ops::infer {

namespace {

Result<const Type*> unary_of(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, bool wants_float,
                             DType out) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (wants_float && !x->dtype.is_void() && !x->dtype.is_float())
    return type_error(info, "the input must have a float dtype, it has " + to_string(x->dtype), 0);
  return static_cast<const Type*>(with_dtype(ctx, x, out.is_void() ? x->dtype : out));
}

DType dtype_of(const ir::CallSpec& call, std::size_t i, const TensorType* t) {
  return t ? t->dtype : call.args[i]->dtype();
}

// Shape of an elementwise operator over arguments from..from+types.size(); scalars (null) have shape ().
Result<const Type*> broadcast_all(ir::Context& ctx, const OpInfo& info, const std::vector<const TensorType*>& types,
                                  DType out) {
  const TensorType* like = nullptr;
  for (const TensorType* t : types) {
    if (!t) continue;
    if (like && like->vdevice && t->vdevice && like->vdevice != t->vdevice)
      return type_error(info, "the inputs are on different devices");
    if (!like || (!like->vdevice && t->vdevice)) like = t;
  }
  int ndim = 0;
  std::optional<Dims> shape = Dims{};
  for (const TensorType* t : types) {
    if (!t) continue;
    ndim = ndim == ir::kUnknownNdim || t->ndim == ir::kUnknownNdim ? ir::kUnknownNdim : std::max(ndim, t->ndim);
    if (!shape || !t->has_shape) {
      shape.reset();
      continue;
    }
    RLDB_TRY(auto both, broadcast_dims(ctx, info, *shape, dims_of(t)));
    shape = std::move(both);
  }
  if (shape) return static_cast<const Type*>(make_tensor(ctx, *shape, out, like));
  // Two tensors whose shape is held by the same variable.
  const TensorType* first = nullptr;
  bool same_var = true;
  for (const TensorType* t : types) {
    if (!t) continue;
    if (!first) first = t;
    same_var = same_var && t->shape_var && t->shape_var == first->shape_var;
  }
  if (same_var && first) return static_cast<const Type*>(with_dtype(ctx, first, out));
  return static_cast<const Type*>(make_ndim(ctx, ndim, out, like));
}

// Void when either is unknown; a failure when both are known and differ.
Result<DType> common_dtype(const OpInfo& info, const ir::CallSpec& call, const std::vector<const TensorType*>& types,
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
      return type_error(
          info, "the operands must have the same dtype, they have " + to_string(out) + " and " + to_string(t), int(i));
    out = t;
  }
  return unknown ? DType::Void() : out;
}

// Scalars alone are taken where `scalars` says so: what they give is a scalar too.
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
  return unary_of(ctx, info, call, true, DType::Bool());
}
Result<const Type*> astype(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return unary_of(ctx, info, call, false, attr_dtype(call, "dtype"));
}

Result<const Type*> binary(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto types, operands(info, call, true));
  RLDB_TRY(DType t, common_dtype(info, call, types));
  if (all_scalars(types)) return static_cast<const Type*>(ctx.prim(t));
  return broadcast_all(ctx, info, types, t);
}

Result<const Type*> compare(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  // Operands of different dtypes are compared in the wider one, as in TVM.
  RLDB_TRY(auto types, operands(info, call, true));
  if (all_scalars(types)) return static_cast<const Type*>(ctx.boolean());
  return broadcast_all(ctx, info, types, DType::Bool());
}

Result<const Type*> where(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto types, operands(info, call));
  DType cond = dtype_of(call, 0, types[0]);
  if (!cond.is_void() && !cond.is_bool())
    return type_error(info, "the condition must have dtype bool, it has " + to_string(cond), 0);
  RLDB_TRY(DType t, common_dtype(info, call, types, 1));
  return broadcast_all(ctx, info, types, t);
}

Result<const Type*> ewise_fma(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  std::vector<const TensorType*> types;
  for (std::size_t i = 0; i < 3; ++i) {
    RLDB_TRY(const TensorType* t, tensor_arg(info, call, i));
    types.push_back(t);
  }
  RLDB_TRY(DType dtype, common_dtype(info, call, types));
  int ndim = ir::kUnknownNdim;
  for (const TensorType* t : types) {
    if (t->ndim == ir::kUnknownNdim) continue;
    if (ndim != ir::kUnknownNdim && t->ndim != ndim)
      return type_error(info, "the operands must have the same rank, they have " + std::to_string(ndim) + " and " +
                                  std::to_string(t->ndim));
    ndim = t->ndim;
  }
  const TensorType* shaped = nullptr;
  for (const TensorType* t : types) {
    if (!t->has_shape) return static_cast<const Type*>(make_ndim(ctx, ndim, dtype, types[0]));
    if (!shaped) {
      shaped = t;
      continue;
    }
    for (std::size_t i = 0; i < t->shape.size(); ++i) {
      if (same_dim(ctx, shaped->shape[i], t->shape[i])) continue;
      if (different_dim(ctx, shaped->shape[i], t->shape[i]))
        return type_error(info, "the operands must have the same shape");
      return static_cast<const Type*>(make_ndim(ctx, ndim, dtype, types[0]));
    }
  }
  return static_cast<const Type*>(with_dtype(ctx, shaped, dtype));
}

Result<const Type*> same_as_input(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (const ir::Attr* axis = ir::find_attr(call.attrs, "axis"); axis && !axis->is(ir::AttrKind::None))
    RLDB_TRY_VOID(normalize_axis(info, axis->integer, x->ndim));
  return call.args[0]->type;
}

Result<const Type*> like_second(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY_VOID(tensor_arg(info, call, 1));
  return call.args[1]->type;
}

Result<const Type*> identity(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  (void)info;
  return call.args[0]->type;
}

Result<const Type*> qdq(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  DType out = attr_dtype(call, "out_dtype");
  bool quantize = info.short_name() == "quantize";
  const TensorType* params[2];
  for (std::size_t i = 1; i <= 2; ++i) {
    RLDB_TRY(params[i - 1], tensor_arg(info, call, i));
  }
  if (quantize && !x->dtype.is_void() && !x->dtype.is_float())
    return type_error(info, "the data must have a float dtype, it has " + to_string(x->dtype), 0);
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, "axis"), x->ndim));
  for (int i = 0; i < 2; ++i) {
    const TensorType* p = params[i];
    if (!x->has_shape || !p->has_shape || p->ndim != 1) continue;
    if (x->ndim > 0 && !is_one(p->shape[0]) && different_dim(ctx, p->shape[0], x->shape[std::size_t(axis)]))
      return type_error(info,
                        std::string(info.args[std::size_t(i) + 1].name) + " has " + ir::print_expr(p->shape[0]) +
                            " values, the axis has " + ir::print_expr(x->shape[std::size_t(axis)]),
                        i + 1);
  }
  return static_cast<const Type*>(with_dtype(ctx, x, out));
}

}  // namespace rldb::ops::infer
