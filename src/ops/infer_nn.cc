// Type inference: activations with a parameter, normalisation, losses, attention. Windows are in infer_window.cc.
#include "ops/infer_util.h"
#include "rldb/ir/printer.h"

namespace rldb::ops::infer {

namespace {
const Type* typed(const TensorType* t) { return t; }

Result<support::Unit> float_input(const OpInfo& info, const TensorType* x, int argument) {
  if (x->dtype.is_void() || x->dtype.is_float()) return support::Unit{};
  return type_error(info, "the input must have a float dtype, it has " + to_string(x->dtype), argument);
}

// The parameters of a normalisation have the shape of the normalised axes.
Result<support::Unit> params_fit(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, const TensorType* x,
                                 const std::vector<int>& axes, std::size_t first, std::size_t last) {
  for (std::size_t p = first; p <= last; ++p) {
    RLDB_TRY(const TensorType* t, tensor_arg(info, call, p));
    if (!x->dtype.is_void() && !t->dtype.is_void() && x->dtype != t->dtype && first == 1 &&
        info.short_name() != "nn.rms_norm" && !t->dtype.is_float())
      return type_error(
          info, std::string(info.args[p].name) + " must have a float dtype, it has " + to_string(t->dtype), int(p));
    if (t->ndim != ir::kUnknownNdim && t->ndim != int(axes.size()))
      return type_error(info,
                        std::string(info.args[p].name) + " must have " + std::to_string(axes.size()) +
                            " dims, it has " + std::to_string(t->ndim),
                        int(p));
    if (!x->has_shape || !t->has_shape) continue;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (different_dim(ctx, t->shape[i], x->shape[std::size_t(axes[i])]))
        return type_error(info,
                          std::string(info.args[p].name) + " has " + ir::print_expr(t->shape[i]) + " values at dim " +
                              std::to_string(i) + ", the axis of the data has " +
                              ir::print_expr(x->shape[std::size_t(axes[i])]),
                          int(p));
  }
  return support::Unit{};
}

Result<const Type*> axes_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, std::size_t last_param) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  if (x->ndim == ir::kUnknownNdim) return typed(x);
  RLDB_TRY(auto axes, normalize_axes(info, *attr_ints(call, "axes"), x->ndim));
  RLDB_TRY_VOID(params_fit(ctx, info, call, x, axes, 1, last_param));
  return typed(x);
}

Result<const Type*> channel_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  if (x->ndim == ir::kUnknownNdim) return typed(x);
  RLDB_TRY(int channel, normalize_axis(info, attr_int(call, "channel_axis"), x->ndim));
  RLDB_TRY_VOID(normalize_axes(info, *attr_ints(call, "axes"), x->ndim));
  RLDB_TRY_VOID(params_fit(ctx, info, call, x, {channel}, 1, 2));
  return typed(x);
}
}  // namespace

Result<const Type*> prelu(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  if (x->ndim == ir::kUnknownNdim) return typed(x);
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, "axis"), x->ndim));
  (void)ctx;
  return typed(x);
}

Result<const Type*> softmax(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, "axis"), x->ndim));
  return typed(x);
}

Result<const Type*> layer_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return axes_norm(ctx, info, call, 2);
}
Result<const Type*> rms_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return axes_norm(ctx, info, call, 1);
}
Result<const Type*> instance_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return channel_norm(ctx, info, call);
}
Result<const Type*> group_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const Type* t, channel_norm(ctx, info, call));
  const auto* x = ir::as<TensorType>(t);
  std::int64_t groups = attr_int(call, "num_groups");
  if (x->has_shape) {
    auto c =
        ir::const_int(x->shape[std::size_t(attr_int(call, "channel_axis") < 0 ? attr_int(call, "channel_axis") + x->ndim
                                                                              : attr_int(call, "channel_axis"))]);
    if (c && (groups <= 0 || *c % groups != 0))
      return type_error(info,
                        std::to_string(*c) + " channels cannot be divided into " + std::to_string(groups) + " groups");
  }
  return t;
}

Result<const Type*> batch_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  if (x->ndim != ir::kUnknownNdim) {
    RLDB_TRY(int axis, normalize_axis(info, attr_int(call, "axis"), x->ndim));
    RLDB_TRY_VOID(params_fit(ctx, info, call, x, {axis}, 1, 4));
  }
  RLDB_TRY(const TensorType* mean, tensor_arg(info, call, 3));
  RLDB_TRY(const TensorType* var, tensor_arg(info, call, 4));
  const Type* fields[] = {x, mean, var};
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> dropout(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  const Type* fields[] = {x, x};
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> pad(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto widths = *attr_ints(call, "pad_width");
  if (x->ndim != ir::kUnknownNdim && int(widths.size()) != 2 * x->ndim)
    return type_error(info, "pad_width must have " + std::to_string(2 * x->ndim) + " values (two an axis), it has " +
                                std::to_string(widths.size()));
  if (!x->has_shape) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims;
  for (std::size_t i = 0; i < x->shape.size(); ++i)
    dims.push_back(simplify(ctx, ir::add(ctx, x->shape[i], ctx.i64(widths[2 * i] + widths[2 * i + 1]))));
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> pixel_shuffle(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::int64_t r = attr_int(call, "upscale_factor");
  if (r <= 0) return type_error(info, "the upscale factor must be positive, it is " + std::to_string(r));
  if (x->ndim != ir::kUnknownNdim && x->ndim < 3)
    return type_error(info, "the input must have at least 3 dims, it has " + std::to_string(x->ndim), 0);
  if (!x->has_shape) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims = dims_of(x);
  std::size_t n = dims.size();
  if (auto c = ir::const_int(dims[n - 3]); c && *c % (r * r) != 0)
    return type_error(info, std::to_string(*c) + " channels cannot be divided by " + std::to_string(r * r), 0);
  dims[n - 3] = simplify(ctx, ir::floor_div(ctx, dims[n - 3], ctx.i64(r * r)));
  dims[n - 2] = simplify(ctx, ir::mul(ctx, dims[n - 2], ctx.i64(r)));
  dims[n - 1] = simplify(ctx, ir::mul(ctx, dims[n - 1], ctx.i64(r)));
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> cross_entropy(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* p, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* l, tensor_arg(info, call, 1));
  if (!p->dtype.is_void() && !l->dtype.is_void() && p->dtype != l->dtype)
    return type_error(info, "predictions and labels must have the same dtype, they have " + to_string(p->dtype) +
                                " and " + to_string(l->dtype));
  if (p->ndim != ir::kUnknownNdim && l->ndim != ir::kUnknownNdim && p->ndim != l->ndim)
    return type_error(info, "predictions and labels must have the same rank, they have " + std::to_string(p->ndim) +
                                " and " + std::to_string(l->ndim));
  if (p->has_shape && l->has_shape)
    for (std::size_t i = 0; i < p->shape.size(); ++i)
      if (different_dim(ctx, p->shape[i], l->shape[i]))
        return type_error(info, "predictions and labels differ at dim " + std::to_string(i) + ": " +
                                    ir::print_expr(p->shape[i]) + " and " + ir::print_expr(l->shape[i]));
  return typed(make_tensor(ctx, {}, p->dtype.is_void() ? l->dtype : p->dtype, p));
}

Result<const Type*> nll_loss(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* p, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* t, tensor_arg(info, call, 1));
  if (call.args.size() > 2) RLDB_TRY_VOID(tensor_arg(info, call, 2));
  if (!t->dtype.is_void() && !t->dtype.is_int() && !t->dtype.is_uint())
    return type_error(info, "the targets must have an integer dtype, they have " + to_string(t->dtype), 1);
  std::string_view reduction = attr_string(call, "reduction");
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    return type_error(info,
                      "the reduction must be \"none\", \"mean\" or \"sum\", it is \"" + std::string(reduction) + "\"");
  if (p->ndim != ir::kUnknownNdim && t->ndim != ir::kUnknownNdim && p->ndim != t->ndim + 1)
    return type_error(info, "the predictions must have one dim more than the targets, they have " +
                                std::to_string(p->ndim) + " and " + std::to_string(t->ndim));
  if (p->has_shape && t->has_shape)
    for (std::size_t i = 0, j = 0; i < p->shape.size(); ++i) {
      if (i == (p->ndim == 1 ? 0u : 1u)) continue;
      if (different_dim(ctx, p->shape[i], t->shape[j]))
        return type_error(info, "predictions and targets differ: " + ir::print_expr(p->shape[i]) + " and " +
                                    ir::print_expr(t->shape[j]));
      ++j;
    }
  if (reduction != "none") return typed(make_tensor(ctx, {}, p->dtype, p));
  return typed(with_dtype(ctx, t, p->dtype));
}

Result<const Type*> attention(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  const TensorType* t[3];
  for (std::size_t i = 0; i < 3; ++i) {
    RLDB_TRY(t[i], tensor_arg(info, call, i));
    if (t[i]->ndim != ir::kUnknownNdim && t[i]->ndim != 4)
      return type_error(info,
                        std::string(info.args[i].name) +
                            " must have 4 dims (batch, sequence, heads, head size), it has " +
                            std::to_string(t[i]->ndim),
                        int(i));
  }
  const TensorType* q = t[0];
  if (!q->has_shape || !t[1]->has_shape || !t[2]->has_shape) return typed(make_ndim(ctx, 4, q->dtype, q));
  auto differ = [&](const Expr* a, const Expr* b) { return different_dim(ctx, a, b); };
  if (differ(q->shape[0], t[1]->shape[0]) || differ(q->shape[0], t[2]->shape[0]))
    return type_error(info, "the batch sizes differ");
  if (differ(q->shape[2], t[1]->shape[2]) || differ(q->shape[2], t[2]->shape[2]))
    return type_error(info, "the numbers of heads differ");
  if (differ(t[1]->shape[1], t[2]->shape[1]))
    return type_error(info, "key and value have sequences of different length");
  if (differ(q->shape[3], t[1]->shape[3])) return type_error(info, "query and key have heads of different size");
  return typed(make_tensor(ctx, {q->shape[0], q->shape[1], q->shape[2], t[2]->shape[3]}, q->dtype, q));
}

}  // namespace rldb::ops::infer
