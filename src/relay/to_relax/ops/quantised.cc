// qnn.*: integers that represent (x - zero_point) * scale. Products are computed in integers; changes of scale in
// double precision, where TVM multiplies by a fixed-point number of 31 bits: at a tie the last bit may differ.
#include <cmath>

#include "relay/to_relax/ops/kernels.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/conv.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"

namespace rldb::to_relax::translations {

namespace {

constexpr DType kInt32 = DType::Int(32);
constexpr DType kWide = DType::Float(64);

DType dtype_attr(OpCall& o, std::string_view name, DType fallback) {
  return runtime::parse_dtype(text_attr(o, name, "")).value_or(fallback);
}
std::int64_t int_attr(OpCall& o, std::string_view name, std::int64_t fallback) {
  const relay::AttrValue* v = o.attr(name);
  return v && v->kind == relay::AttrKind::Int ? v->integer : fallback;
}

// A parameter for each position of an axis of `x`, reshaped to broadcast with it.
Made along_axis(OpCall& o, const Expr* x, const Expr* parameter, std::int64_t axis) {
  RLDB_TRY(const ir::TensorType* t, o.tensor_of(x));
  RLDB_TRY(const ir::TensorType* p, o.tensor_of(parameter));
  if (p->ndim == 0) return parameter;
  RLDB_TRY(const std::size_t at, o.axis(axis, std::size_t(t->ndim)));
  return o.expand(parameter, iota(1, t->ndim - std::int64_t(at)));
}

Made bound_binary(OpCall& o, std::string_view op, const Expr* a, const Expr* b) {
  RLDB_TRY(const Expr* made, o.broadcast(op, {a, b}));
  return o.bind(made);
}

// x - zero_point, in int32.
Made centred(OpCall& o, const Expr* x, const Expr* zero_point, std::int64_t axis) {
  RLDB_TRY(const Expr* wide, o.cast(x, kInt32));
  RLDB_TRY(const Expr* zero, o.cast(zero_point, kInt32));
  RLDB_TRY(const Expr* shaped, along_axis(o, x, zero, axis));
  return bound_binary(o, op::Subtract, wide, shaped);
}

// Converts integers to the dtype, clamping those outside its range.
Made saturated(OpCall& o, const Expr* x, DType t) {
  RLDB_TRY(const ir::TensorType* type, o.tensor_of(x));
  const double most = std::ldexp(1.0, t.bits - (t.is_uint() ? 0 : 1)) - 1, least = t.is_uint() ? 0 : -most - 1;
  RLDB_TRY(const Expr* clipped,
           o.emit(op::Clip, {x, o.ctx.literal(type->dtype, least), o.ctx.literal(type->dtype, most)}));
  return o.cast(clipped, t);
}

// Rounds halves upwards, or away from zero.
Made rounded(OpCall& o, const Expr* x, bool away_from_zero) {
  const Expr* half = o.scalar(kWide, 0.5);
  if (!away_from_zero) {
    RLDB_TRY(const Expr* raised, o.emit(op::Add, {x, half}));
    return o.emit(op::Floor, {raised});
  }
  RLDB_TRY(const Expr* sign, o.emit(op::Sign, {x}));
  RLDB_TRY(const Expr* size, o.emit(op::Abs, {x}));
  RLDB_TRY(const Expr* raised, o.emit(op::Add, {size, half}));
  RLDB_TRY(const Expr* whole, o.emit(op::Floor, {raised}));
  return o.emit(op::Multiply, {sign, whole});
}

struct Scale {
  const Expr* scale;
  const Expr* zero_point;
};

// Converts integers of one scale to integers (in double precision) of another, zero point included.
Made rescaled(OpCall& o, const Expr* x, Scale from, Scale to, std::int64_t axis, bool away_from_zero) {
  RLDB_TRY(const Expr* whole, centred(o, x, from.zero_point, axis));
  RLDB_TRY(const Expr* wide, o.cast(whole, kWide));
  RLDB_TRY(const Expr* scale, o.cast(from.scale, kWide));
  RLDB_TRY(const Expr* wanted, o.cast(to.scale, kWide));
  RLDB_TRY(const Expr* factor, bound_binary(o, op::Divide, scale, wanted));
  RLDB_TRY(const Expr* shaped, along_axis(o, x, factor, axis));
  RLDB_TRY(const Expr* scaled, bound_binary(o, op::Multiply, wide, shaped));
  RLDB_TRY(const Expr* round, rounded(o, scaled, away_from_zero));
  RLDB_TRY(const Expr* zero, o.cast(to.zero_point, kWide));
  return bound_binary(o, op::Add, round, zero);
}

Made quantised(OpCall& o, const Expr* x, Scale to, std::int64_t axis, DType dtype) {
  RLDB_TRY(const Expr* scale, along_axis(o, x, to.scale, axis));
  RLDB_TRY(const Expr* scaled, bound_binary(o, op::Divide, x, scale));
  RLDB_TRY(const Expr* whole, o.emit(op::Round, {scaled}));
  RLDB_TRY(const ir::TensorType* t, o.tensor_of(x));
  RLDB_TRY(const Expr* zero, o.cast(to.zero_point, t->dtype));
  RLDB_TRY(const Expr* shaped, along_axis(o, x, zero, axis));
  RLDB_TRY(const Expr* moved, bound_binary(o, op::Add, whole, shaped));
  return saturated(o, moved, dtype);
}

Made dequantised(OpCall& o, const Expr* x, Scale from, std::int64_t axis) {
  RLDB_TRY(const Expr* whole, centred(o, x, from.zero_point, axis));
  RLDB_TRY(const Expr* real, o.cast(whole, DType::Float(32)));
  RLDB_TRY(const Expr* scale, along_axis(o, x, from.scale, axis));
  return bound_binary(o, op::Multiply, real, scale);
}

support::Failure<source::Message> operands_missing() { return refuse("it has fewer operands than TVM gives it"); }

}  // namespace

Made qnn_quantize(OpCall& o) {
  if (o.args.size() < 3) return operands_missing();
  return quantised(o, o.arg(0), {o.arg(1), o.arg(2)}, int_attr(o, relay::field::Axis, -1),
                   dtype_attr(o, relay::field::OutDtype, DType::Int(8)));
}

Made qnn_dequantize(OpCall& o) {
  if (o.args.size() < 3) return operands_missing();
  return dequantised(o, o.arg(0), {o.arg(1), o.arg(2)}, int_attr(o, relay::field::Axis, -1));
}

Made qnn_requantize(OpCall& o) {
  if (o.args.size() < 5) return operands_missing();
  RLDB_TRY(const Expr* made,
           rescaled(o, o.arg(0), {o.arg(1), o.arg(2)}, {o.arg(3), o.arg(4)}, int_attr(o, relay::field::Axis, -1),
                    text_attr(o, relay::field::Rounding, "UPWARD") == "TONEAREST"));
  return saturated(o, made, dtype_attr(o, relay::field::OutDtype, DType::Int(8)));
}

// Operands: data, weight, their zero points, their scales, which do not affect the product.
Made qnn_dense(OpCall& o) {
  if (o.args.size() < 4) return operands_missing();
  RLDB_TRY(const Expr* data, centred(o, o.arg(0), o.arg(2), -1));
  RLDB_TRY(const Expr* weight, centred(o, o.arg(1), o.arg(3), 0));
  RLDB_TRY(const Expr* columns, o.permute(weight, {1, 0}));
  return o.call(op::Matmul, {data, columns});
}

// Operands: two tensors, their zero points, their scales.
Made qnn_batch_matmul(OpCall& o) {
  if (o.args.size() < 4) return operands_missing();
  RLDB_TRY(const Expr* a, centred(o, o.arg(0), o.arg(2), -1));
  RLDB_TRY(const Expr* b, centred(o, o.arg(1), o.arg(3), -1));
  OpCall plain({o.ctx, o.blocks, o.kernels}, o.Attributes::call, relay::info(relay::op::NnBatchMatmul), {a, b},
               o.result, op::Matmul);
  return batch_matmul(plain);
}

Made qnn_conv2d_transpose(OpCall& o) {
  if (o.args.size() < 4) return operands_missing();
  RLDB_TRY(const Expr* data, centred(o, o.arg(0), o.arg(2), -1));
  RLDB_TRY(const Expr* weight, centred(o, o.arg(1), o.arg(3), 1));
  OpCall plain({o.ctx, o.blocks, o.kernels}, o.Attributes::call, relay::info(relay::op::NnConv2dTranspose),
               {data, weight}, o.result, op::NnConv2dTranspose);
  return conv_transpose(plain);
}

Made qnn_conv2d(OpCall& o) {
  if (o.args.size() < 4) return operands_missing();
  RLDB_TRY(const Expr* data, centred(o, o.arg(0), o.arg(2), -1));
  RLDB_TRY(const Expr* weight, centred(o, o.arg(1), o.arg(3), 0));
  OpCall plain({o.ctx, o.blocks, o.kernels}, o.Attributes::call, relay::info(relay::op::NnConv2d), {data, weight},
               o.result, op::NnConv2d);
  return conv(plain);
}

namespace {

// Operands: a, b, scale and zero point of a, of b, of the result.
Made sum_of(OpCall& o, std::string_view op, std::string_view back) {
  if (o.args.size() < 8) return operands_missing();
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  const Scale to{o.arg(6), o.arg(7)};
  RLDB_TRY(const Expr* a,
           rescaled(o, o.arg(0), {o.arg(2), o.arg(3)}, to, int_attr(o, relay::field::LhsAxis, -1), false));
  RLDB_TRY(const Expr* b,
           rescaled(o, o.arg(1), {o.arg(4), o.arg(5)}, to, int_attr(o, relay::field::RhsAxis, -1), false));
  RLDB_TRY(const Expr* both, bound_binary(o, op, a, b));
  RLDB_TRY(const Expr* zero, o.cast(to.zero_point, kWide));
  RLDB_TRY(const Expr* once, bound_binary(o, back, both, zero));
  return saturated(o, once, t->dtype);
}

}  // namespace

Made qnn_add(OpCall& o) { return sum_of(o, op::Add, op::Subtract); }
Made qnn_subtract(OpCall& o) { return sum_of(o, op::Subtract, op::Add); }

Made qnn_multiply(OpCall& o) {
  if (o.args.size() < 8) return operands_missing();
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const Expr* a, centred(o, o.arg(0), o.arg(3), int_attr(o, relay::field::LhsAxis, -1)));
  RLDB_TRY(const Expr* b, centred(o, o.arg(1), o.arg(5), int_attr(o, relay::field::RhsAxis, -1)));
  RLDB_TRY(const Expr* both, bound_binary(o, op::Multiply, a, b));
  RLDB_TRY(const Expr* scale, bound_binary(o, op::Multiply, o.arg(2), o.arg(4)));
  RLDB_TRY(const Expr* made, rescaled(o, both, {scale, o.scalar(kInt32, 0)}, {o.arg(6), o.arg(7)}, -1, false));
  return saturated(o, made, t->dtype);
}

// Operands: the tensors, their scales, their zero points (tuples), scale and zero point of the result.
Made qnn_concatenate(OpCall& o) {
  if (o.args.size() < 5) return operands_missing();
  RLDB_TRY(Exprs tensors, o.fields(0));
  RLDB_TRY(const Exprs scales, o.fields(1));
  RLDB_TRY(const Exprs zeros, o.fields(2));
  if (tensors.empty() || scales.size() != tensors.size() || zeros.size() != tensors.size()) return operands_missing();
  RLDB_TRY(const ir::TensorType* t, o.tensor_of(tensors[0]));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    RLDB_TRY(const Expr* made, rescaled(o, tensors[i], {scales[i], zeros[i]}, {o.arg(3), o.arg(4)}, -1, false));
    RLDB_TRY(tensors[i], saturated(o, made, t->dtype));
  }
  return o.call(op::Concat, {o.ctx.tuple(tensors)}, {{op_attr::Axis, o.ctx.attr(int_attr(o, relay::field::Axis, 0))}});
}

namespace {

// The quantised result of `make` on real numbers. Operands: x, its scale and zero point, those of the result.
template <class F>
Made of_real_numbers(OpCall& o, F&& make) {
  if (o.args.size() < 5) return operands_missing();
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const Expr* real, dequantised(o, o.arg(0), {o.arg(1), o.arg(2)}, -1));
  RLDB_TRY(const Expr* made, make(o.bind(real)));
  return quantised(o, made, {o.arg(3), o.arg(4)}, -1, t->dtype);
}

}  // namespace

Made qnn_unary(OpCall& o) {
  return of_real_numbers(o, [&](const Expr* x) { return o.emit(o.target, {x}); });
}

Made qnn_leaky_relu(OpCall& o) {
  const relay::AttrValue* alpha = o.attr(relay::field::Alpha);
  return of_real_numbers(o, [&](const Expr* x) {
    return o.emit(op::NnLeakyrelu, {x}, {{op_attr::Alpha, o.ctx.attr(alpha ? alpha->real : 0.25)}});
  });
}

Made qnn_softmax(OpCall& o) {
  return of_real_numbers(o, [&](const Expr* x) {
    return o.emit(op::NnSoftmax, {x}, {{op_attr::Axis, o.ctx.attr(int_attr(o, relay::field::Axis, -1))}});
  });
}

// x * min(max(x + 3, 0), 6) / 6
Made qnn_hardswish(OpCall& o) {
  return of_real_numbers(o, [&](const Expr* x) -> Made {
    constexpr DType kReal = DType::Float(32);
    RLDB_TRY(const Expr* moved, o.emit(op::Add, {x, o.scalar(kReal, 3)}));
    RLDB_TRY(const Expr* clipped, o.emit(op::Clip, {moved, o.ctx.literal(kReal, 0), o.ctx.literal(kReal, 6)}));
    RLDB_TRY(const Expr* product, o.emit(op::Multiply, {x, clipped}));
    return o.emit(op::Divide, {product, o.scalar(kReal, 6)});
  });
}

}  // namespace rldb::to_relax::translations
