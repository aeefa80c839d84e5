// Type inference: creation, shapes as tensors, inspection.
#include <cmath>

#include "ops/infer/util.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/support/text.h"

namespace rldb::ops::infer {

namespace {

// A tensor of the shape given by an argument.
Result<const Type*> of_shape(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, std::size_t index,
                             DType out, const ir::VDevice* vdevice = nullptr) {
  RLDB_TRY_VOID(shape_arg(info, call, index));
  return static_cast<const Type*>(make_shaped(ctx, call.args[index], out, vdevice));
}

Result<const TensorType*> fill_value(const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* fill, tensor_or_prim_arg(info, call, 1));
  if (fill && fill->ndim != ir::kUnknownNdim && fill->ndim != 0)
    return type_error(info,
                      "requires the input fill value to be zero rank Tensor, but the given one has ndim " +
                          std::to_string(fill->ndim),
                      1);
  return fill;
}

const Expr* prim(const ir::CallSpec& call, std::size_t i) { return call.args[i]; }

Result<const Expr*> integer(const OpInfo& info, const ir::CallSpec& call, std::size_t i) {
  const Expr* e = prim(call, i);
  if (!e->dtype().is_integral())
    return type_error(
        info, "expects `" + std::string(info.args[i].name) + "` to be an integer scalar, but got " + describe(e),
        int(i));
  return e;
}

// The whole steps that it takes to get from `start` to `end` or beyond. For a step that is not known, -((start - end)
// // step), which rounds the quotient up whatever its sign.
const Expr* steps_between(ir::Context& ctx, const Expr* start, const Expr* end, const Expr* step) {
  const auto size = ir::const_int(step);
  if (size == 1) return ir::sub(ctx, end, start);
  if (!size) return ir::sub(ctx, ctx.i64(0), ir::floor_div(ctx, ir::sub(ctx, start, end), step));
  if (*size < 0) std::swap(start, end);
  const Expr* unit = *size < 0 ? ir::sub(ctx, ctx.i64(0), step) : step;
  const Expr* span = ir::sub(ctx, end, start);
  return ir::floor_div(ctx, ir::sub(ctx, ir::add(ctx, span, unit), ctx.i64(1)), unit);
}

}  // namespace

Result<const Type*> full(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* fill, fill_value(info, call));
  DType out = attr_dtype(call, op_attr::Dtype);
  if (out.is_void()) out = fill ? fill->dtype : call.args[1]->dtype();
  return of_shape(ctx, info, call, 0, out, fill ? fill->vdevice : nullptr);
}

Result<const Type*> full_like(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(fill_value(info, call));
  DType out = attr_dtype(call, op_attr::Dtype);
  return static_cast<const Type*>(with_dtype(ctx, x, out.is_void() ? x->dtype : out));
}

Result<const Type*> ones_zeros(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return of_shape(ctx, info, call, 0, attr_dtype(call, op_attr::Dtype));
}

Result<const Type*> ones_zeros_like(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  DType out = attr_dtype(call, op_attr::Dtype);
  return static_cast<const Type*>(with_dtype(ctx, x, out.is_void() ? x->dtype : out));
}

Result<const Type*> eye(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const Expr* n, integer(info, call, 0));
  RLDB_TRY(const Expr* m, integer(info, call, 1));
  RLDB_TRY_VOID(integer(info, call, 2));
  return static_cast<const Type*>(make_tensor(ctx, {n, m}, attr_dtype(call, op_attr::Dtype), nullptr));
}

Result<const Type*> eye_like(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (x->ndim != ir::kUnknownNdim && x->ndim != 2)
    return type_error(
        info, "expects the input tensor to be 2-dimensional, but got " + std::to_string(x->ndim) + " dimensions", 0);
  DType out = attr_dtype(call, op_attr::Dtype);
  return static_cast<const Type*>(with_dtype(ctx, x, out.is_void() ? x->dtype : out));
}

Result<const Type*> arange(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  DType out = attr_dtype(call, op_attr::Dtype);
  const Expr* start = prim(call, 0);
  const Expr* end = prim(call, 1);
  const Expr* step = prim(call, 2);
  for (std::size_t i = 0; i < 3; ++i)
    if (!ir::as<ir::PrimType>(call.args[i]->type))
      return type_error(
          info, "expects `" + std::string(info.args[i].name) + "` to be a scalar, but got " + describe(call.args[i]),
          int(i));
  auto value = [](const Expr* e) -> std::optional<double> {
    if (const auto* f = ir::as<ir::FloatImm>(e)) return f->value;
    if (auto i = ir::const_int(e)) return double(*i);
    return std::nullopt;
  };
  auto a = value(start);
  auto b = value(end);
  auto s = value(step);
  if (s && *s == 0) return type_error(info, "the step must not be 0", 2);
  if (a && b && s) {
    double count = (*b - *a) / *s;
    if (count >= 0x1p62) return type_error(info, "asks for more elements than can be counted", 1);
    const std::int64_t n = count > 0 ? std::int64_t(std::ceil(count)) : 0;
    return static_cast<const Type*>(make_tensor(ctx, {ctx.i64(n)}, out, nullptr));
  }
  bool integral = start->dtype().is_integral() && end->dtype().is_integral() && step->dtype().is_integral();
  if (!integral) {
    // ceil((end - start) / step), in float32.
    const DType f = DType::Float(32);
    const bool whole = start->dtype().is_integral() && end->dtype().is_integral();
    const Expr* span =
        whole ? ir::sub(ctx, end, start) : ir::sub(ctx, ir::cast_to(ctx, f, end), ir::cast_to(ctx, f, start));
    const Expr* ratio = ir::div(ctx, ir::cast_to(ctx, f, span), ir::cast_to(ctx, f, step));
    const Expr* n = ir::cast_to(ctx, DType::Int(64), ctx.intrin(f, ir::intrin::Ceil, {ratio}));
    return static_cast<const Type*>(make_tensor(ctx, {n}, out, nullptr));
  }
  return static_cast<const Type*>(make_tensor(
      ctx, {simplify(ctx, ir::cast_to(ctx, DType::Int(64), steps_between(ctx, start, end, step)))}, out, nullptr));
}

Result<const Type*> hamming_window(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const Expr* n, integer(info, call, 0));
  if (auto c = ir::const_int(n); c && *c <= 0)
    return type_error(info, "expects the window size must be greater than zero", 0);
  DType out = attr_dtype(call, op_attr::Dtype);
  if (!out.is_float())
    return attr_error(info, op_attr::Dtype, "expects the datatype to be float but got " + to_string(out));
  return static_cast<const Type*>(make_tensor(ctx, {n}, out, nullptr));
}

Result<const Type*> tril(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (x->ndim != ir::kUnknownNdim && x->ndim < 2)
    return type_error(info,
                      "requires the input tensor to have at least two dimensions, but the given one has " +
                          support::counted(std::size_t(x->ndim), "dimension"),
                      0);
  return static_cast<const Type*>(x);
}

Result<const Type*> one_hot(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (!x->dtype.is_void() && !x->dtype.is_int() && !x->dtype.is_uint())
    return type_error(
        info, "requires the input indices to have integer dtype, but the given indices dtype is " + to_string(x->dtype),
        0);
  for (std::size_t i = 1; i <= 2; ++i)
    if (!ir::as<ir::PrimType>(call.args[i]->type))
      return type_error(
          info, "expects `" + std::string(info.args[i].name) + "` to be a scalar, but got " + describe(call.args[i]),
          int(i));
  DType out = call.args[1]->dtype();
  if (out != call.args[2]->dtype())
    return type_error(info,
                      "on_value and off_value must have the same dtype, but got " + to_string(out) + " and " +
                          to_string(call.args[2]->dtype()),
                      2);
  std::int64_t depth = attr_int(call, op_attr::Depth);
  if (depth <= 0) return attr_error(info, op_attr::Depth, "depth must be positive, but got " + std::to_string(depth));
  if (x->ndim == ir::kUnknownNdim) return static_cast<const Type*>(make_ndim(ctx, ir::kUnknownNdim, out, x));
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim + 1));
  if (!x->has_shape) return static_cast<const Type*>(make_ndim(ctx, x->ndim + 1, out, x));
  Dims dims = dims_of(x);
  dims.insert(dims.begin() + axis, ctx.i64(depth));
  return static_cast<const Type*>(make_tensor(ctx, dims, out, x));
}

Result<const Type*> shape_of(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (x->has_shape) return static_cast<const Type*>(ctx.shape_type(x->shape));
  if (x->shape_var)
    if (const auto* s = ir::as<ir::ShapeType>(x->shape_var->type)) return static_cast<const Type*>(s);
  return static_cast<const Type*>(ctx.shape_type_ndim(x->ndim));
}

// More than any library supports; each dimension is a loop of a kernel.
constexpr std::int64_t kMaxRank = 1'000;

Result<const Type*> tensor_to_shape(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (x->ndim != ir::kUnknownNdim && x->ndim != 1)
    return type_error(info, "requires the input tensor to be 1-dimensional, but it has ndim " + std::to_string(x->ndim),
                      0);
  if (!x->dtype.is_void() && !x->dtype.is_integral())
    return type_error(info, "requires the input tensor to have integer dtype, but it has " + to_string(x->dtype), 0);
  int ndim = ir::kUnknownNdim;
  if (x->has_shape)
    if (auto n = ir::const_int(x->shape[0]); n && *n >= 0) {
      if (*n > kMaxRank)
        return type_error(info,
                          "makes shapes of at most " + std::to_string(kMaxRank) + " dimensions, the input tensor has " +
                              std::to_string(*n) + " elements",
                          0);
      ndim = int(*n);
    }
  return static_cast<const Type*>(ctx.shape_type_ndim(ndim));
}

Result<const Type*> shape_to_tensor(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, 0));
  if (s->ndim == ir::kUnknownNdim) return static_cast<const Type*>(ctx.tensor_ndim(1, DType::Int(64)));
  return static_cast<const Type*>(make_tensor(ctx, {ctx.i64(s->ndim)}, DType::Int(64), nullptr));
}

Result<const Type*> size(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  return static_cast<const Type*>(make_tensor(ctx, {}, DType::Int(64), x));
}

namespace {
Result<const Type*> inspected(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, DType out) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (call.args.size() > 1) {
    RLDB_TRY(const Expr* axis, integer(info, call, 1));
    auto a = ir::const_int(axis);
    if (a && x->ndim != ir::kUnknownNdim && (*a < 0 || *a >= x->ndim))
      return type_error(info,
                        "the axis " + std::to_string(*a) + " is out of range: it must be in range [0, " +
                            std::to_string(x->ndim) + ") for a tensor of " +
                            support::counted(std::size_t(x->ndim), "dimension"),
                        1);
  }
  return static_cast<const Type*>(ctx.prim(out));
}
}  // namespace

Result<const Type*> inspect_i32(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return inspected(ctx, info, call, DType::Int(32));
}
Result<const Type*> inspect_u8(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return inspected(ctx, info, call, DType::UInt(8));
}
Result<const Type*> inspect_u16(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return inspected(ctx, info, call, DType::UInt(16));
}
Result<const Type*> inspect_i64(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return inspected(ctx, info, call, DType::Int(64));
}
Result<const Type*> inspect_u64(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return inspected(ctx, info, call, DType::UInt(64));
}

}  // namespace rldb::ops::infer
