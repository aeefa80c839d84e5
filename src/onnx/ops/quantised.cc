// Quantised tensors: integers that stand for (x - zero_point) * scale.
#include <fmt/format.h>

#include <cmath>

#include "onnx/ops/conv.h"
#include "onnx/tensor.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"

namespace rldb::onnx::bodies {

namespace {

constexpr DType kReal = DType::Float(32), kInt32 = DType::Int(32);

// A parameter for each position of an axis, shaped to broadcast along it; scalars stay.
const Expr* along(Chain& m, const Expr* parameter, std::size_t axis, std::size_t rank) {
  if (m.rank(parameter) != 1 || rank == 0) return parameter;
  const Dims one = m.dims(parameter);
  if (m.good() && ir::is_const(one[0], 1)) return m.reshape(parameter, {});
  return m.expand(parameter, iota(1, std::int64_t(rank - axis)));
}

// A parameter for each block of an axis, repeated for its elements.
const Expr* blocked(Chain& m, const Expr* parameter, std::size_t axis, std::int64_t block, const Dims& dims) {
  const Dims of = m.dims(parameter);
  if (!m.good() || of.size() != dims.size()) return m.fail("the scale of its blocks is not of its data's rank");
  Dims wide = of;
  wide.insert(wide.begin() + std::ptrdiff_t(axis) + 1, m.c.i64(block));
  Dims flat = of;
  flat[axis] = ir::mul(m.ctx, of[axis], m.c.i64(block));
  const Expr* made = m.reshape(m.broadcast_to(m.expand(parameter, {std::int64_t(axis) + 1}), wide), flat);
  if (!m.good()) return nullptr;
  // The last block may be cut off.
  return m.c.same_dim(flat[axis], dims[axis]) ? made : m.take(m.c.sliced(made, axis, m.c.i64(0), dims[axis]));
}

const Expr* parameter_of(Chain& m, const Expr* parameter, const Expr* x) {
  const Dims dims = m.dims(x);
  if (!m.good() || dims.empty()) return parameter;
  const std::int64_t block = m.c.integer(key::BlockSize, 0), axis = m.c.integer(key::Axis, 1);
  if (m.rank(parameter) == 0) return parameter;
  const std::size_t at = dims.size() == 1 && axis == 1 ? 0 : m.axis(axis, x);
  return block > 0 ? blocked(m, parameter, at, block, dims) : along(m, parameter, at, dims.size());
}

// Converts whole numbers, clamping those outside the range of the dtype.
const Expr* saturated(Chain& m, const Expr* x, DType t) {
  if (t.is_float8() && m.c.integer(key::Saturate, 1) != 0) return m.to_float8(x, t);
  if (t.is_float()) return m.cast(x, t);
  const double most = std::ldexp(1.0, t.bits - (t.is_uint() ? 0 : 1)) - 1, least = t.is_uint() ? 0 : -most - 1;
  return m.cast(m.min(m.max(x, m.lit(x, least)), m.lit(x, most)), t);
}

const Expr* quantised(Chain& m, const Expr* x, const Expr* scale, const Expr* zero, DType t) {
  const Expr* scaled = m.div(x, m.cast(scale, m.dtype(x)));
  const Expr* whole = t.is_float() ? scaled : m.unary(op::Round, scaled);
  return saturated(m, zero && !t.is_float() ? m.add(whole, m.cast(zero, m.dtype(x))) : whole, t);
}

// x - zero_point, in int32.
const Expr* centred(Chain& m, const Expr* x, const Expr* zero) {
  const Expr* wide = m.cast(x, kInt32);
  return zero ? m.sub(wide, m.cast(zero, kInt32)) : wide;
}

}  // namespace

// Operands: data, scale, zero point, whose dtype is that of the result.
Made quantize_linear(NodeContext& c) {
  Chain m(c);
  const Expr *x = m.in(0), *zero = c.has(2) ? m.in(2) : nullptr;
  DType t = zero ? m.dtype(zero) : DType::UInt(8);
  if (const std::int64_t given = c.integer(key::OutputDtype, 0); !zero && given != 0) {
    const auto wanted = dtype_of(std::int32_t(given));
    if (!wanted)
      return refuse(fmt::format("it converts to {}, which Relax does not have", dtype_name(std::int32_t(given))));
    t = *wanted;
  }
  if (!m.dtype(x).is_float()) x = m.cast(x, kReal);
  const Expr* scale = parameter_of(m, m.in(1), x);
  return m.done(quantised(m, x, scale, zero ? parameter_of(m, zero, x) : nullptr, t));
}

Made dequantize_linear(NodeContext& c) {
  Chain m(c);
  const Expr *x = m.in(0), *scale = m.in(1);
  const DType t = m.dtype(scale);
  const Expr* zero = c.has(2) ? parameter_of(m, m.in(2), x) : nullptr;
  const bool real = m.dtype(x).is_float();
  const Expr* wide = real ? m.cast(x, t) : m.cast(centred(m, x, zero), t);
  return m.done(m.mul(wide, parameter_of(m, scale, x)));
}

// (data, scale, zero point), of uint8 over the range of the data, which includes 0.
Made dynamic_quantize_linear(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Ints all = iota(0, std::int64_t(m.rank(x)));
  const Expr* most = m.max(m.reduce(op::Max, x, all, false), m.lit(x, 0));
  const Expr* least = m.min(m.reduce(op::Min, x, all, false), m.lit(x, 0));
  const Expr* scale = m.div(m.sub(most, least), m.lit(x, 255));
  const Expr* zero = saturated(m, m.unary(op::Round, m.div(m.unary(op::Negative, least), scale)), DType::UInt(8));
  const Expr* made = quantised(m, x, scale, zero, DType::UInt(8));
  if (!m.good()) return m.done(nullptr);
  return static_cast<const Expr*>(c.ctx.tuple(Exprs{made, scale, zero}));
}

namespace {

// The zero point of each row of the first operand of a product.
const Expr* of_rows(Chain& m, const Expr* zero) { return m.rank(zero) == 1 ? m.expand(zero, {1}) : zero; }

}  // namespace

// Operands: A, B, the zero points of A (of each row) and of B (of each column).
Made matmul_integer(NodeContext& c) {
  Chain m(c);
  const Expr* a = centred(m, m.in(0), c.has(2) ? of_rows(m, m.in(2)) : nullptr);
  const Expr* b = centred(m, m.in(1), c.has(3) ? m.in(3) : nullptr);
  return m.done(m.matmul(a, b));
}

// Of com.microsoft: products of numbers of 16 bits in 32.
Made matmul_integer16(NodeContext& c) {
  Chain m(c);
  const DType a = m.dtype(m.in(0)), b = m.dtype(m.in(1));
  for (const DType given : {a, b})
    if (m.good() && (!given.is_integral() || given.bits != 16))
      return refuse("its operands are not of int16 or uint16");
  const bool is_unsigned = a.is_uint() && b.is_uint();
  const DType t = is_unsigned ? DType::UInt(32) : kInt32;
  return m.done(m.matmul(m.cast(m.in(0), t), m.cast(m.in(1), t)));
}

Made conv_integer(NodeContext& c) {
  Chain m(c);
  const Expr* x = centred(m, m.in(0), c.has(2) ? m.in(2) : nullptr);
  const Expr* zero = c.has(3) ? along(m, m.in(3), 0, m.rank(m.in(1))) : nullptr;
  const Expr* w = centred(m, m.in(1), zero);
  if (!m.good()) return m.done(nullptr);
  return convolution(c, x, w);
}

// Operands: A, its scale and zero point, B, its, those of the result.
Made qlinear_matmul(NodeContext& c) {
  Chain m(c);
  const Expr* product = m.matmul(centred(m, m.in(0), of_rows(m, m.in(2))), centred(m, m.in(3), m.in(5)));
  const Expr* scale = m.mul(of_rows(m, m.cast(m.in(1), kReal)), m.cast(m.in(4), kReal));
  const Expr* real = m.mul(m.cast(product, kReal), scale);
  return m.done(quantised(m, real, m.in(6), m.in(7), m.dtype(m.in(7))));
}

// Operands: X, its scale and zero point, W, its, those of the result, a bias in int32.
Made qlinear_conv(NodeContext& c) {
  Chain m(c);
  const std::size_t rank = m.rank(m.in(0));
  const Expr* x = centred(m, m.in(0), m.in(2));
  const Expr* w = centred(m, m.in(3), along(m, m.in(5), 0, rank));
  if (!m.good()) return m.done(nullptr);
  RLDB_TRY(const Expr* made, convolution(c, x, w));
  const Expr* sum = c.has(8) ? m.add(made, per_channel(m, m.in(8), rank)) : made;
  const Expr* scale = m.mul(m.in(1), along(m, m.in(4), 1, rank));
  return m.done(quantised(m, m.mul(m.cast(sum, kReal), scale), m.in(6), m.in(7), m.dtype(m.in(7))));
}

namespace {

const Expr* real_operand(Chain& m, std::size_t i) {
  const Expr* zero = m.c.has(i + 2) ? m.in(i + 2) : nullptr;
  return m.mul(m.cast(centred(m, m.in(i), zero), kReal), m.in(i + 1));
}

const Expr* quantised_as(Chain& m, const Expr* real, std::size_t scale, DType t) {
  return quantised(m, real, m.in(scale), m.c.has(scale + 1) ? m.in(scale + 1) : nullptr, t);
}

}  // namespace

// Of com.microsoft. Operands: A, its scale and zero point, B, its, those of the result.
Made qlinear_binary(NodeContext& c) {
  Chain m(c);
  return m.done(quantised_as(m, m.each(c.target, real_operand(m, 0), real_operand(m, 3)), 6, m.dtype(m.in(0))));
}

// The same of one operand.
Made qlinear_unary(NodeContext& c) {
  Chain m(c);
  return m.done(quantised_as(m, m.unary(c.target, real_operand(m, 0)), 3, m.dtype(m.in(0))));
}

Made qlinear_leaky_relu(NodeContext& c) {
  Chain m(c);
  const Expr* x = real_operand(m, 0);
  const Expr* made = m.max(x, m.mul(x, c.real(key::Alpha, 0.01)));
  return m.done(quantised_as(m, made, 3, m.dtype(m.in(0))));
}

}  // namespace rldb::onnx::bodies
