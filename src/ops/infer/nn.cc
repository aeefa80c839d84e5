// Type inference: activations with a parameter, normalisation, losses, attention. Windows are in infer/window.cc.
#include "rldb/ir/op/nn.h"

#include <algorithm>

#include "ops/infer/util.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/printer.h"

namespace rldb::ops::infer {

namespace {
Result<support::Unit> float_input(const OpInfo& info, const TensorType* x, int argument) {
  if (x->dtype.is_void() || x->dtype.is_float()) return support::Unit{};
  return type_error(info,
                    "requires the input data to have float dtype, but the given data dtype is " + to_string(x->dtype),
                    argument);
}

// The parameters of a normalisation (arguments first..last) have the dtype of the data and the lengths of the
// normalised axes (-1 where that is not known). False when the lengths cannot be told equal.
Result<bool> params_fit(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, const TensorType* x,
                        const std::vector<int>& axes, std::size_t first, std::size_t last) {
  bool equal = true;
  for (std::size_t p = first; p <= last; ++p) {
    RLDB_TRY(const TensorType* t, tensor_arg(info, call, p));
    const std::string name(info.args[p].name);
    if (!x->dtype.is_void() && !t->dtype.is_void() && x->dtype != t->dtype)
      return type_error(info,
                        "requires all the input tensors to have the same dtype, but the " + name + " has dtype " +
                            to_string(t->dtype) + " which is other than the input data's dtype " + to_string(x->dtype),
                        int(p));
    if (t->ndim != ir::kUnknownNdim && t->ndim != int(axes.size()))
      return type_error(info,
                        "requires the input " + name +
                            " to have as many dimensions as the length of input axes, but the given one has ndim " +
                            std::to_string(t->ndim) + ", which is other than the length of axes " +
                            std::to_string(axes.size()),
                        int(p));
    if (!x->has_shape || !t->has_shape) continue;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Expr* want = x->shape[std::size_t(axes[i])];
      if (same_dim(ctx, t->shape[i], want)) continue;
      equal = false;
      if (different_dim(ctx, t->shape[i], want))
        return type_error(info,
                          "requires the input gamma, beta, etc., to have size same as the lengths of the data on the "
                          "given axes, but " +
                              name + " has " + ir::print_expr(t->shape[i]) + " at dim " + std::to_string(i) +
                              " and the axis of the data has " + ir::print_expr(want),
                          int(p));
    }
  }
  return equal;
}

const TensorType* rank_of(ir::Context& ctx, const TensorType* x) { return make_ndim(ctx, x->ndim, x->dtype, x); }

Result<const Type*> axes_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, std::size_t last_param) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  const auto given = *attr_ints(call, op_attr::Axes);
  std::vector<int> axes(given.size(), -1);
  if (x->ndim != ir::kUnknownNdim) {
    RLDB_TRY(axes, normalize_axes(info, given, x->ndim, op_attr::Axes));
  }
  RLDB_TRY(bool equal, params_fit(ctx, info, call, x, axes, 1, last_param));
  return typed(equal ? x : rank_of(ctx, x));
}

Result<const Type*> channel_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  int channel = -1;
  if (x->ndim != ir::kUnknownNdim) {
    RLDB_TRY(channel, normalize_axis(info, attr_int(call, op_attr::ChannelAxis), x->ndim, op_attr::ChannelAxis));
    RLDB_TRY(auto axes, normalize_axes(info, *attr_ints(call, op_attr::Axes), x->ndim, op_attr::Axes));
    if (std::find(axes.begin(), axes.end(), channel) != axes.end())
      return attr_error(info, op_attr::Axes,
                        "expects that channel_axis must not be in axes, but got channel_axis " +
                            std::to_string(channel) + ", which axes names");
  }
  RLDB_TRY_VOID(params_fit(ctx, info, call, x, {channel}, 1, 2));
  return typed(x);
}
}  // namespace

Result<const Type*> prelu(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* alpha, tensor_arg(info, call, 1));
  RLDB_TRY_VOID(float_input(info, x, 0));
  RLDB_TRY_VOID(common_dtype(info, {x, alpha}));
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  return typed(x);
}

Result<const Type*> softmax(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
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
  const std::int64_t groups = attr_int(call, op_attr::NumGroups);
  if (groups <= 0)
    return attr_error(info, op_attr::NumGroups, "expects num_groups to be positive, but got " + std::to_string(groups));
  if (!x->has_shape) return t;
  std::int64_t channel = attr_int(call, op_attr::ChannelAxis);
  const Expr* extent = x->shape[std::size_t(channel < 0 ? channel + x->ndim : channel)];
  if (different_dim(ctx, ir::floor_mod(ctx, extent, ctx.i64(groups)), ctx.i64(0)))
    return attr_error(info, op_attr::NumGroups,
                      "expects that the size of channel_axis must be divisible by " + std::to_string(groups) +
                          ", but got " + ir::print_expr(extent));
  return t;
}

Result<const Type*> batch_norm(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(float_input(info, x, 0));
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  RLDB_TRY(bool equal, params_fit(ctx, info, call, x, {axis}, 1, 4));
  RLDB_TRY(const TensorType* mean, tensor_arg(info, call, 3));
  RLDB_TRY(const TensorType* var, tensor_arg(info, call, 4));
  const TensorType* vector = make_ndim(ctx, 1, x->dtype, x);
  const Type* fields[] = {equal ? x : rank_of(ctx, x), equal ? mean : vector, equal ? var : vector};
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> dropout(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  const Type* fields[] = {x, x};
  return static_cast<const Type*>(ctx.tuple_type(fields));
}

Result<const Type*> pad(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto widths = *attr_ints(call, op_attr::PadWidth);
  if (x->ndim != ir::kUnknownNdim && int(widths.size()) != 2 * x->ndim)
    return attr_error(info, op_attr::PadWidth,
                      "illegal pad_width: it must have " + std::to_string(2 * x->ndim) +
                          " values (two an axis), it has " + std::to_string(widths.size()));
  if (!x->has_shape) return typed(rank_of(ctx, x));
  Dims dims;
  for (std::size_t i = 0; i < x->shape.size(); ++i)
    dims.push_back(
        simplify(ctx, ir::add(ctx, ir::add(ctx, x->shape[i], ctx.i64(widths[2 * i])), ctx.i64(widths[2 * i + 1]))));
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> pixel_shuffle(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::int64_t r = attr_int(call, op_attr::UpscaleFactor);
  if (r <= 0)
    return attr_error(info, op_attr::UpscaleFactor, "the upscale factor must be positive, it is " + std::to_string(r));
  std::int64_t square = 0;
  if (__builtin_mul_overflow(r, r, &square))
    return attr_error(info, op_attr::UpscaleFactor,
                      "the square of the upscale factor " + std::to_string(r) + " is too large");
  if (x->ndim != ir::kUnknownNdim && x->ndim < 3)
    return type_error(info, "requires at least 3D input tensor, but it has ndim " + std::to_string(x->ndim), 0);
  if (!x->has_shape) return typed(rank_of(ctx, x));
  Dims dims = dims_of(x);
  std::size_t n = dims.size();
  if (auto c = ir::const_int(dims[n - 3]); c && *c % square != 0)
    return type_error(info,
                      "the number of input channels must be divisible by the square of the upscale factor, but it is " +
                          std::to_string(*c) + " and the square is " + std::to_string(square),
                      0);
  dims[n - 3] = simplify(ctx, ir::floor_div(ctx, dims[n - 3], ctx.i64(square)));
  dims[n - 2] = simplify(ctx, ir::mul(ctx, dims[n - 2], ctx.i64(r)));
  dims[n - 1] = simplify(ctx, ir::mul(ctx, dims[n - 1], ctx.i64(r)));
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> cross_entropy(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* p, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* l, tensor_arg(info, call, 1));
  RLDB_TRY(DType dtype, common_dtype(info, {p, l}));
  RLDB_TRY(const TensorType* like, on_equal_device(info, {p, l}));
  if (p->ndim != ir::kUnknownNdim && l->ndim != ir::kUnknownNdim && p->ndim != l->ndim)
    return type_error(info,
                      "requires predictions and labels to have the same ndim, but the ndim of predictions is " +
                          std::to_string(p->ndim) + " while the ndim of labels is " + std::to_string(l->ndim),
                      1);
  if (p->has_shape && l->has_shape)
    for (std::size_t i = 0; i < p->shape.size(); ++i)
      if (different_dim(ctx, p->shape[i], l->shape[i]))
        return type_error(info,
                          "requires the predictions and labels to have the same shape, but the shape of predictions at "
                          "dim " +
                              std::to_string(i) + " is " + ir::print_expr(p->shape[i]) +
                              " while the shape of labels at this dim is " + ir::print_expr(l->shape[i]),
                          1);
  return typed(make_tensor(ctx, {}, dtype, like));
}

namespace {

// (N, C, d1, ..., dk) or (C,): the shape without the classes, and C separately.
struct Predictions {
  const Expr* classes = nullptr;
  Dims rest;
};

Result<support::Unit> targets_fit(ir::Context& ctx, const OpInfo& info, const Dims& rest, const Dims& targets) {
  if (rest.size() != targets.size()) {
    const std::string message = rest.empty() ? "predictions shape is (C,) while targets is not a scalar"
                                             : "predictions shape is (N, C, ...) while targets is a scalar";
    return type_error(info, "shape mismatch: " + message, 1);
  }
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (!different_dim(ctx, rest[i], targets[i])) continue;
    if (i == 0)
      return type_error(info,
                        "expects minibatch size N inferred from different arguments to be equal, but N from "
                        "predictions is " +
                            ir::print_expr(rest[i]) + " while N from targets is " + ir::print_expr(targets[i]),
                        1);
    return type_error(info,
                      "shape mismatch: the prediction shape at this dim is " + ir::print_expr(rest[i]) +
                          " while the target shape at this dim is " + ir::print_expr(targets[i]),
                      1);
  }
  return support::Unit{};
}

}  // namespace

Result<const Type*> nll_loss(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* p, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* t, tensor_arg(info, call, 1));
  const TensorType* w = nullptr;
  if (call.args.size() > 2) {
    RLDB_TRY(w, tensor_arg(info, call, 2));
  }
  std::string_view reduction = attr_string(call, op_attr::Reduction);
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    return attr_error(info, op_attr::Reduction,
                      "reduction should be one of the following values: none, mean, sum, but the given value is \"" +
                          std::string(reduction) + "\"");
  RLDB_TRY(DType dtype, common_dtype(info, {p, nullptr, w}));
  RLDB_TRY(const TensorType* like, on_equal_device(info, {p, nullptr, w}));
  if (!t->dtype.is_void() && !t->dtype.is_int() && !t->dtype.is_uint())
    return type_error(
        info, "expects the dtype of targets to be int/uint, but the dtype of targets is " + to_string(t->dtype), 1);
  if (p->ndim == 0)
    return type_error(info, "expects the ndim of predictions >= 1, but the ndim of predictions is 0", 0);
  if (w && w->ndim != ir::kUnknownNdim && w->ndim != 1)
    return type_error(info, "expects the ndim of weights == 1, but the ndim of weights is " + std::to_string(w->ndim),
                      2);
  auto inner = [](int ndim, int outer) { return std::max(ndim - outer, 0); };
  if (p->ndim != ir::kUnknownNdim && t->ndim != ir::kUnknownNdim && inner(p->ndim, 2) != inner(t->ndim, 1))
    return type_error(info,
                      "expects number of dimensions K inferred from different arguments to be equal, but K from "
                      "predictions is " +
                          std::to_string(inner(p->ndim, 2)) + " while K from targets is " +
                          std::to_string(inner(t->ndim, 1)),
                      1);
  Predictions have;
  if (p->has_shape) {
    const std::size_t classes = p->ndim == 1 ? 0 : 1;
    have.classes = p->shape[classes];
    have.rest = dims_of(p);
    have.rest.erase(have.rest.begin() + std::ptrdiff_t(classes));
    if (t->has_shape) RLDB_TRY_VOID(targets_fit(ctx, info, have.rest, dims_of(t)));
  }
  if (w && w->has_shape && have.classes && different_dim(ctx, have.classes, w->shape[0]))
    return type_error(info,
                      "expects number of classes C inferred from different arguments to be equal, but C from "
                      "predictions is " +
                          ir::print_expr(have.classes) + " while C from weights is " + ir::print_expr(w->shape[0]),
                      2);
  if (reduction != "none") return typed(make_tensor(ctx, {}, dtype, like));
  if (p->has_shape) return typed(make_tensor(ctx, have.rest, dtype, like));
  return typed(make_ndim(ctx, p->ndim == ir::kUnknownNdim ? ir::kUnknownNdim : p->ndim - 1, dtype, like));
}

namespace {

// Compares dims of one argument of attention with those of another.
struct AttentionDims {
  ir::Context& ctx;
  const OpInfo& info;

  Result<support::Unit> same(const Expr* a, const Expr* b, std::string_view one, std::string_view other,
                             std::string_view what, int argument, bool or_one = false) const {
    if ((or_one && is_one(b)) || !different_dim(ctx, a, b)) return support::Unit{};
    const std::string w(what);
    return type_error(info,
                      "the " + std::string(one) + " " + w + " and the " + std::string(other) + " " + w +
                          " should be the same" + (or_one ? " or broadcastable" : "") + ", but the " + w + " of " +
                          std::string(one) + " is " + ir::print_expr(a) + " while the " + w + " of " +
                          std::string(other) + " is " + ir::print_expr(b),
                      argument);
  }
  Result<support::Unit> multiple(const Expr* a, const Expr* b, std::string_view other, int argument) const {
    if (ir::is_const(b, 0) || !different_dim(ctx, ir::floor_mod(ctx, a, b), ctx.i64(0))) return support::Unit{};
    return type_error(info,
                      "the query number of heads should be a multiple of " + std::string(other) +
                          " number of heads, but the number of heads of query is " + ir::print_expr(a) +
                          " while the number of heads of " + std::string(other) + " is " + ir::print_expr(b),
                      argument);
  }
};

}  // namespace

Result<const Type*> attention(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  const bool has_bias = info.short_name() == short_op::NnAttentionBias;
  std::vector<const TensorType*> t;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    RLDB_TRY(t.emplace_back(), tensor_arg(info, call, i));
    if (i >= (has_bias ? 4u : 3u) || t[i]->ndim == ir::kUnknownNdim || t[i]->ndim == 4) continue;
    return type_error(info,
                      "the " + std::string(info.args[i].name) + " should have 4 dimensions" +
                          (i < 3 ? ", namely [batch size, sequence length, number of heads, dimension of heads]" : "") +
                          ", but it has " + std::to_string(t[i]->ndim),
                      int(i));
  }
  const TensorType *q = t[0], *k = t[1], *v = t[2];
  if (!q->has_shape || !k->has_shape || !v->has_shape) return typed(make_ndim(ctx, 4, q->dtype, q));
  const AttentionDims d{ctx, info};
  RLDB_TRY_VOID(d.same(q->shape[0], k->shape[0], "query", "key", "batch size", 1));
  RLDB_TRY_VOID(d.same(q->shape[0], v->shape[0], "query", "value", "batch size", 2));
  RLDB_TRY_VOID(d.multiple(q->shape[2], k->shape[2], "key", 1));
  RLDB_TRY_VOID(d.multiple(q->shape[2], v->shape[2], "value", 2));
  RLDB_TRY_VOID(d.same(k->shape[1], v->shape[1], "key", "value", "sequence length", 2));
  RLDB_TRY_VOID(d.same(q->shape[3], k->shape[3], "query", "key", "dimension of heads", 1));
  if (has_bias && t[3]->has_shape) {
    const auto bias = t[3]->shape;
    RLDB_TRY_VOID(d.same(q->shape[0], bias[0], "query", "bias", "batch size", 3, true));
    RLDB_TRY_VOID(d.same(q->shape[2], bias[1], "query", "bias", "number of heads", 3, true));
    RLDB_TRY_VOID(d.same(q->shape[1], bias[2], "query", "bias", "sequence length", 3, true));
    RLDB_TRY_VOID(d.same(k->shape[1], bias[3], "key", "bias", "sequence length", 3));
  }
  return typed(make_tensor(ctx, {q->shape[0], q->shape[1], q->shape[2], v->shape[3]}, q->dtype, q));
}

}  // namespace rldb::ops::infer
