// Type inference: gradients of losses, pooling and take. Each has the type of the value differentiated; the inputs
// must fit it, or no kernel could be made.
#include "ops/infer/util.h"
#include "ops/layout.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"

namespace rldb::ops::infer {

namespace {

constexpr int kUnknown = ir::kUnknownNdim;

Result<support::Unit> rank_is(const OpInfo& info, const TensorType* t, int want, std::size_t argument,
                              std::string_view because) {
  if (t->ndim == kUnknown || want == kUnknown || t->ndim == want) return support::Unit{};
  return type_error(info,
                    "expects `" + std::string(info.args[argument].name) + "` to have ndim " + std::to_string(want) +
                        ", " + std::string(because) + ", but it has ndim " + std::to_string(t->ndim),
                    int(argument));
}

Result<support::Unit> dtype_is(const OpInfo& info, const TensorType* t, const TensorType* like, std::size_t argument) {
  if (t->dtype.is_void() || like->dtype.is_void() || t->dtype == like->dtype) return support::Unit{};
  return type_error(info,
                    "expects `" + std::string(info.args[argument].name) + "` to have the dtype " +
                        to_string(like->dtype) + " of what the gradient is of, but it has " + to_string(t->dtype),
                    int(argument));
}

Result<support::Unit> integers(const OpInfo& info, const TensorType* t, std::size_t argument) {
  if (t->dtype.is_void() || t->dtype.is_int() || t->dtype.is_uint()) return support::Unit{};
  return type_error(info,
                    "requires `" + std::string(info.args[argument].name) + "` to have integer dtype, but it has " +
                        to_string(t->dtype),
                    int(argument));
}

// The shape required of the argument, where both are known; `broadcast`: dims may be 1 or missing in front.
Result<support::Unit> shape_is(ir::Context& ctx, const OpInfo& info, const TensorType* t, const Dims& want,
                               std::size_t argument, bool broadcast) {
  if (!t->has_shape) return support::Unit{};
  const Dims got = dims_of(t);
  bool fits = broadcast ? got.size() <= want.size() : got.size() == want.size();
  for (std::size_t i = 0; fits && i < got.size(); ++i) {
    const Expr* to = want[i + want.size() - got.size()];
    fits = (broadcast && is_one(got[i])) || !different_dim(ctx, got[i], to);
  }
  if (fits) return support::Unit{};
  return type_error(info,
                    "expects `" + std::string(info.args[argument].name) + "` to have the shape " + shape_text(want) +
                        (broadcast ? " or one that broadcasts to it" : "") + ", but it has " + shape_text(got),
                    int(argument));
}

}  // namespace

Result<const Type*> nll_loss_backward(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* grad, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 1));
  RLDB_TRY(const TensorType* targets, tensor_arg(info, call, 2));
  const std::string_view reduction = attr_string(call, op_attr::Reduction);
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return attr_error(info, op_attr::Reduction,
                      "reduction must be \"none\", \"sum\" or \"mean\", it is \"" + std::string(reduction) + "\"");
  if (x->ndim == 0) return type_error(info, "expects `predictions` to have a dim of classes, but it has ndim 0", 1);
  RLDB_TRY_VOID(integers(info, targets, 2));
  RLDB_TRY_VOID(dtype_is(info, grad, x, 0));
  const int ndim = x->ndim == kUnknown ? kUnknown : x->ndim - 1;
  RLDB_TRY_VOID(rank_is(info, targets, ndim, 2, "one less than the predictions"));
  const std::size_t classes = x->ndim > 1 ? 1 : 0;
  if (x->has_shape) {
    Dims want = dims_of(x);
    want.erase(want.begin() + std::ptrdiff_t(classes));
    RLDB_TRY_VOID(shape_is(ctx, info, targets, want, 2, false));
  }
  if (targets->has_shape) RLDB_TRY_VOID(shape_is(ctx, info, grad, dims_of(targets), 0, reduction != "none"));
  if (call.args.size() > 3) {
    RLDB_TRY(const TensorType* weights, tensor_arg(info, call, 3));
    RLDB_TRY_VOID(rank_is(info, weights, 1, 3, "a weight a class"));
    RLDB_TRY_VOID(dtype_is(info, weights, x, 3));
    if (x->has_shape) RLDB_TRY_VOID(shape_is(ctx, info, weights, {x->shape[classes]}, 3, false));
  }
  return static_cast<const Type*>(x);
}

Result<const Type*> pool2d_backward(ir::Context&, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* grad, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 1));
  RLDB_TRY(const Layout layout, layout_of(info, call, op_attr::Layout, "NCHW"));
  const int ndim = int(layout.size());
  const std::string because = "as the layout \"" + std::string(attr_string(call, op_attr::Layout)) + "\" has it";
  RLDB_TRY_VOID(rank_is(info, grad, ndim, 0, because));
  RLDB_TRY_VOID(rank_is(info, x, ndim, 1, because));
  RLDB_TRY_VOID(dtype_is(info, grad, x, 0));
  return static_cast<const Type*>(x);
}

Result<const Type*> take_backward(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* grad, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 1));
  RLDB_TRY(const TensorType* indices, tensor_arg(info, call, 2));
  RLDB_TRY_VOID(integers(info, indices, 2));
  RLDB_TRY_VOID(dtype_is(info, grad, x, 0));
  const bool flat = attr_is_none(call, op_attr::Axis);
  if (flat) RLDB_TRY_VOID(rank_is(info, x, 1, 1, "as no axis is given"));
  RLDB_TRY(const int axis, normalize_axis(info, flat ? 0 : attr_int(call, op_attr::Axis), x->ndim));
  if (x->ndim == kUnknown || indices->ndim == kUnknown) return static_cast<const Type*>(x);
  RLDB_TRY_VOID(rank_is(info, grad, x->ndim + indices->ndim - 1, 0, "as the result of take has"));
  if (x->has_shape && indices->has_shape) {
    Dims want = dims_of(x);
    want.erase(want.begin() + axis);
    want.insert(want.begin() + axis, indices->shape.begin(), indices->shape.end());
    RLDB_TRY_VOID(shape_is(ctx, info, grad, want, 0, false));
  }
  return static_cast<const Type*>(x);
}

}  // namespace rldb::ops::infer
