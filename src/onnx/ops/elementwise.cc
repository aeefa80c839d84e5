// Elementwise operators.
#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "onnx/ops/chain.h"
#include "onnx/ops/fold.h"
#include "onnx/tensor.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/unary.h"

namespace rldb::onnx::bodies {

Made unary(NodeContext& c) {
  RLDB_TRY(const Expr* x, c.in(0));
  return c.emit(c.target, {x});
}

Made rounding(NodeContext& c) {
  if (fold_unary(c)) return nullptr;
  return unary(c);
}

Made negative(NodeContext& c) {
  if (fold_negative(c)) return nullptr;
  return unary(c);
}

// Of integers too: Relax's operator takes floats.
Made error_function(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const DType t = m.dtype(x);
  return m.done(m.cast(m.unary(op::Erf, t.is_float() ? x : m.cast(x, DType::Float(64))), t));
}

// NaN of NaN, as TVM's importer has it: Relax's operator compares with 0, and gives 0.
Made sign(NodeContext& c) {
  RLDB_TRY(const ir::TensorType* t, c.type(0));
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Expr* made, c.emit(op::Sign, {x}));
  if (!t->dtype.is_float()) return made;
  RLDB_TRY(const Expr* nan, c.emit(op::Isnan, {x}));
  return c.emit(op::Where, {nan, x, made});
}

Made identity(NodeContext& c) {
  if (c.inputs.empty()) return refuse("it has no operand");
  c.results = {c.inputs[0]};
  return nullptr;
}

namespace {

// Before opset 7 the second operand could be aligned at an axis.
Made aligned(NodeContext& c, const Expr* a, const Expr* b) {
  if (c.opset >= 7 || !c.attr(key::Axis) || c.integer(key::Broadcast, 0) == 0) return b;
  RLDB_TRY(const Dims left, c.dims_of(a));
  RLDB_TRY(const Dims right, c.dims_of(b));
  RLDB_TRY(const std::size_t axis, c.axis(c.integer(key::Axis, 0), left.size()));
  Dims dims = right;
  while (axis + dims.size() < left.size()) dims.push_back(c.i64(1));
  return c.reshape(b, dims);
}

}  // namespace

Made binary(NodeContext& c) {
  if (fold_binary(c)) return nullptr;
  RLDB_TRY(const Expr* a, c.in(0));
  RLDB_TRY(const Expr* b, c.in(1));
  RLDB_TRY(b, aligned(c, a, b));
  return c.each(c.target, a, b);
}

namespace {

// Of any number of operands.
Made one_by_one(NodeContext& c) {
  RLDB_TRY(const Expr* made, c.in(0));
  for (std::size_t i = 1; i < c.count(); ++i) {
    RLDB_TRY(const Expr* x, c.in(i));
    RLDB_TRY(made, c.each(c.target, made, x));
  }
  return made;
}

}  // namespace

Made variadic(NodeContext& c) {
  if (c.count() == 2 && fold_binary(c)) return nullptr;
  return one_by_one(c);
}

namespace {

bool is_number(const Expr* e) {
  const auto* constant = ir::as<ir::Constant>(e);
  if (!constant || !constant->value->is(runtime::ValueKind::Tensor)) return false;
  const runtime::Tensor& t = constant->value->as_tensor();
  return t.element_count() == 1 && !std::isnan(t.at(0));
}

// NaN if one of the operands is: Relax's operator gives its second operand then.
Made extreme_of(NodeContext& c, const Expr* a, const Expr* b) {
  if (is_number(b)) std::swap(a, b);
  RLDB_TRY(const ir::TensorType* t, c.tensor_of(a));
  RLDB_TRY(const Expr* made, c.each(c.target, a, b));
  if (!t->dtype.is_float() || is_number(a)) return made;
  RLDB_TRY(const Expr* nan, c.emit(op::Isnan, {a}));
  return c.broadcast_emit(op::Where, {nan, a, made});
}

}  // namespace

Made extreme(NodeContext& c) {
  if (c.count() == 2 && fold_binary(c)) return nullptr;
  RLDB_TRY(const Expr* made, c.in(0));
  for (std::size_t i = 1; i < c.count(); ++i) {
    RLDB_TRY(const Expr* x, c.in(i));
    RLDB_TRY(made, extreme_of(c, made, x));
  }
  return made;
}

Made mean(NodeContext& c) {
  RLDB_TRY(const ir::TensorType* t, c.type(0));
  if (!t->dtype.is_float())
    return refuse("its operands are not floating-point numbers, of which alone ONNX has a mean");
  RLDB_TRY(const Expr* sum, one_by_one(c));
  return c.with_scalar(op::Divide, sum, double(c.count()));
}

// The result has the type of the base. Powers of integers are computed in double precision: there is no other `pow`.
Made power(NodeContext& c) {
  RLDB_TRY(const Expr* base, c.in(0));
  RLDB_TRY(const Expr* exponent, c.in(1));
  RLDB_TRY(exponent, aligned(c, base, exponent));
  RLDB_TRY(const ir::TensorType* t, c.tensor_of(base));
  RLDB_TRY(const ir::TensorType* e, c.tensor_of(exponent));
  const bool wide = !t->dtype.is_float() || (e->dtype.is_float() && e->dtype.bits > t->dtype.bits);
  const DType at = wide ? DType::Float(64) : t->dtype;
  RLDB_TRY(base, c.cast(base, at));
  RLDB_TRY(exponent, c.cast(exponent, at));
  RLDB_TRY(const Expr* made, c.each(op::Power, base, exponent));
  return c.cast(made, t->dtype);
}

// The sign is that of the divisor, or with `fmod` that of the dividend.
Made modulo(NodeContext& c) {
  c.target = c.integer(key::Fmod, 0) != 0 ? op::Mod : op::FloorMod;
  return binary(c);
}

Made bit_shift(NodeContext& c) {
  RLDB_TRY(const Expr* a, c.in(0));
  RLDB_TRY(const Expr* b, c.in(1));
  RLDB_TRY(const std::string way, c.word(key::Direction, "", {"LEFT", "RIGHT"}));
  return c.each(way == "LEFT" ? op::LeftShift : op::RightShift, a, b);
}

namespace {

// Formats of 8 bits saturate unless the node says otherwise; integers of 4 bits are rounded and saturate.
Made converted(NodeContext& c, const Expr* x, DType to) {
  Chain m(c);
  const DType from = m.dtype(x);
  const bool small = !to.is_float() && to.bits == 4;
  if (small && from.is_float()) {
    const double least = to.is_uint() ? 0 : -8, most = to.is_uint() ? 15 : 7;
    const Expr* within = m.min(m.max(x, m.lit(x, least)), m.lit(x, most));
    return m.done(m.cast(m.unary(op::Round, within), to));
  }
  if (!to.is_float8() || from.is_float8() || !from.is_float() || c.integer(key::Saturate, 1) == 0) return c.cast(x, to);
  return m.done(m.to_float8(x, to));
}

}  // namespace

namespace {

// The number of an element type; the first version has its name: "INT32".
std::int32_t data_type_of(const NodeContext& c) {
  const auto* to = c.attr(key::To);
  std::string name = to && to->has_s() ? to->s() : std::string();
  for (char& letter : name) letter = char(std::tolower(static_cast<unsigned char>(letter)));
  if (name.empty()) return std::int32_t(c.integer(key::To, 0));
  std::int32_t type = pb::TensorProto::DataType_MAX;
  while (type > 0 && dtype_name(type) != name) --type;
  return type;
}

}  // namespace

Made cast_to(NodeContext& c) {
  const std::int32_t type = data_type_of(c);
  const auto dtype = dtype_of(type);
  if (!dtype) return refuse(fmt::format("it converts to {}, which Relax does not have", dtype_name(type)));
  if (fold_cast(c, *dtype)) return nullptr;
  RLDB_TRY(const Expr* x, c.in(0));
  return converted(c, x, *dtype);
}

Made cast_like(NodeContext& c) {
  RLDB_TRY(const ir::TensorType* like, c.type(1));
  if (fold_cast(c, like->dtype)) return nullptr;
  RLDB_TRY(const Expr* x, c.in(0));
  return converted(c, x, like->dtype);
}

namespace {

// A limit that is an attribute in the first versions, an operand later.
ir::Result<const Expr*> limit(NodeContext& c, std::size_t i, std::string_view name, DType dtype) {
  if (c.has(i)) {
    RLDB_TRY(const Expr* x, c.in(i));
    RLDB_TRY(const Dims dims, c.dims_of(x));
    return dims.empty() ? Made(x) : c.reshape(x, {});
  }
  if (!c.attr(name)) return static_cast<const Expr*>(nullptr);
  return c.scalar(dtype, c.real(name, 0));
}

}  // namespace

// A NaN of the data stays; a limit that is NaN is no limit: Relax's operators give their second operand then.
Made clip(NodeContext& c) {
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const ir::TensorType* t, c.tensor_of(x));
  RLDB_TRY(const Expr* low, limit(c, 1, key::Min, t->dtype));
  RLDB_TRY(const Expr* high, limit(c, 2, key::Max, t->dtype));
  if (low) {
    RLDB_TRY(x, c.emit(op::Maximum, {low, x}));
  }
  if (high) {
    RLDB_TRY(x, c.emit(op::Minimum, {high, x}));
  }
  return x;
}

Made where(NodeContext& c) {
  if (fold_where(c)) return nullptr;
  RLDB_TRY(const Exprs operands, c.all());
  if (operands.size() != 3) return refuse("it has three operands");
  return c.broadcast_emit(op::Where, operands);
}

Made reciprocal(NodeContext& c) {
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const ir::TensorType* t, c.tensor_of(x));
  return c.emit(op::Divide, {c.scalar(t->dtype, 1), x});
}

Made is_infinite(NodeContext& c) {
  RLDB_TRY(const Expr* x, c.in(0));
  const bool below = c.integer(key::DetectNegative, 1) != 0, above = c.integer(key::DetectPositive, 1) != 0;
  if (below && above) return c.emit(op::Isinf, {x});
  RLDB_TRY(const ir::TensorType* t, c.tensor_of(x));
  RLDB_TRY(const Expr* infinite, c.emit(op::Isinf, {x}));
  if (!below && !above) return c.emit(op::LogicalAnd, {infinite, c.scalar(DType::Bool(), 0)});
  RLDB_TRY(const Expr* side, c.emit(above ? op::Greater : op::Less, {x, c.scalar(t->dtype, 0)}));
  return c.emit(op::LogicalAnd, {infinite, side});
}

}  // namespace rldb::onnx::bodies
