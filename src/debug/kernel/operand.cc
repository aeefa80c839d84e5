// Arithmetic of conditions: dtypes, rounding, and where there is no form.
#include "debug/kernel/operand.h"

#include "rldb/expression/array.h"
#include "rldb/expression/operator.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/math.h"

namespace rldb::debug {

using expression::Operator;
using ir::BinaryKind;
using ir::Expr;
using runtime::DType;

namespace {

std::optional<BinaryKind> comparing(Operator op) {
  if (op == Operator::Equal) return BinaryKind::EQ;
  if (op == Operator::NotEqual) return BinaryKind::NE;
  if (op == Operator::Less) return BinaryKind::LT;
  if (op == Operator::LessEqual) return BinaryKind::LE;
  if (op == Operator::Greater) return BinaryKind::GT;
  if (op == Operator::GreaterEqual) return BinaryKind::GE;
  return std::nullopt;
}

std::optional<BinaryKind> computing(Operator op) {
  if (op == Operator::Add) return BinaryKind::Add;
  if (op == Operator::Subtract) return BinaryKind::Sub;
  if (op == Operator::Multiply) return BinaryKind::Mul;
  if (op == Operator::Divide) return BinaryKind::Div;
  if (op == Operator::FloorDivide) return BinaryKind::FloorDiv;
  if (op == Operator::Remainder) return BinaryKind::FloorMod;
  return std::nullopt;
}

}  // namespace

const Expr* OperandMath::either(const Expr* a, const Expr* b) {
  return !a ? b : !b ? a : ctx_.binary(BinaryKind::Or, a, b);
}

const Expr* OperandMath::zero_like(const Expr* e) {
  // The float one is negative, so that the difference from it is the opposite of each zero, too.
  return e->dtype().is_float() ? static_cast<const Expr*>(ctx_.float_imm(DType::Float(64), -0.0)) : ctx_.i64(0);
}

Operand OperandMath::as_number(Operand x) {
  if (x.is_bool()) x.value = ir::cast_to(ctx_, DType::Int(64), x.value);
  return x;
}

// A literal is rounded here: folding a cast keeps its decimals.
const Expr* OperandMath::rounded(const Expr* number, DType dtype) {
  const auto* literal = ir::as<ir::FloatImm>(number);
  if (!literal || dtype.bits % 8 != 0) return ir::cast_to(ctx_, dtype, number);
  std::byte element[8];
  runtime::store_double(element, dtype, literal->value);
  return ctx_.float_imm(DType::Float(64), runtime::load_as_double(element, dtype));
}

Operand OperandMath::result(const Expr* value, const Expr* bad, DType dtype) {
  const bool widest = dtype == DType::Float(64) || dtype == DType::Int(64) || dtype.is_void();
  if (widest) return {value, bad, dtype};
  return {ir::cast_to(ctx_, value->dtype(), ir::cast_to(ctx_, dtype, value)), bad, dtype};
}

DType OperandMath::to_floats(Operand& a, Operand& b) {
  DType dtype = DType::Void();
  if (a.is_element() && b.is_element()) {
    dtype = expression::promote(a.element, b.element);
  } else if (a.is_element() || b.is_element()) {
    dtype = a.is_element() ? a.element : b.element;
    Operand& number = a.is_element() ? b : a;
    if (dtype.is_float()) number.value = rounded(number.value, dtype);
  }
  for (Operand* x : {&a, &b}) x->value = to_double(x->value);
  return dtype.is_float() || dtype.is_void() ? dtype : DType::Float(64);
}

DType OperandMath::integer_dtype(const Operand& a, const Operand& b, const Expr*& bad) {
  if (!a.is_element() && !b.is_element()) return DType::Void();
  if (a.is_element() && b.is_element()) return expression::promote(a.element, b.element);
  const DType dtype = a.is_element() ? a.element : b.element;
  const Expr* number = a.is_element() ? b.value : a.value;
  if (dtype.bits >= 64 || !dtype.is_integral()) return dtype;
  const std::int64_t half = std::int64_t(1) << (dtype.bits - 1);
  const std::int64_t low = dtype.is_uint() ? 0 : -half, high = dtype.is_uint() ? 2 * half - 1 : half - 1;
  const auto known = ir::const_int(number);
  if (known && *known >= low && *known <= high) return dtype;
  bad = either(bad, ctx_.binary(BinaryKind::Or, ctx_.binary(BinaryKind::LT, number, ctx_.i64(low)),
                                ctx_.binary(BinaryKind::GT, number, ctx_.i64(high))));
  return dtype;
}

DType OperandMath::to_common(Operand& a, Operand& b, const Expr*& bad) {
  if (a.is_bool() || b.is_bool()) throw NoForm{};
  const DType dtype = a.is_float() || b.is_float() ? to_floats(a, b) : integer_dtype(a, b, bad);
  if (!a.is_float() && !dtype.is_void() && !dtype.is_integral()) throw NoForm{};
  return dtype;
}

// By zero: zero for elements, an error of the language for plain numbers.
Operand OperandMath::division(Operator op, const Operand& a, const Operand& b, const Expr* bad, DType dtype) {
  const auto is = [&](std::int64_t v) { return ctx_.binary(BinaryKind::EQ, b.value, ctx_.i64(v)); };
  const Expr *one = ctx_.i64(1), *none = ctx_.i64(0);
  // The smallest integer by -1 has no quotient for the machine.
  const Expr* by = ctx_.select(ctx_.binary(BinaryKind::Or, is(0), is(-1)), one, b.value);
  const Expr* value = ctx_.binary(*computing(op), a.value, by);
  if (op == Operator::FloorDivide) value = ctx_.select(is(-1), ctx_.binary(BinaryKind::Sub, none, a.value), value);
  if (dtype.is_void()) return result(value, either(bad, is(0)), dtype);
  return result(ctx_.select(is(0), none, value), bad, dtype);
}

Operand OperandMath::integers(Operator op, const Operand& a, const Operand& b) {
  const Expr* bad = either(a.bad, b.bad);
  const DType dtype = integer_dtype(a, b, bad);
  if (!dtype.is_void() && !dtype.is_integral()) throw NoForm{};
  if (dtype == DType::UInt(64)) throw NoForm{};
  const auto by = ir::const_int(b.value);
  const bool divides = op == Operator::FloorDivide || op == Operator::Remainder;
  if (divides && (!by || *by <= 0)) return division(op, a, b, bad, dtype);
  return result(ctx_.binary(*computing(op), a.value, b.value), bad, dtype);
}

Operand OperandMath::bits(Operator op, const Operand& a, const Operand& b) {
  const Expr* bad = either(a.bad, b.bad);
  if (a.is_bool() && b.is_bool()) {
    const BinaryKind kind = op == Operator::BitAnd  ? BinaryKind::And
                            : op == Operator::BitOr ? BinaryKind::Or
                                                    : BinaryKind::NE;
    return {ctx_.binary(kind, a.value, b.value), bad};
  }
  if (a.is_bool() || b.is_bool() || a.is_float() || b.is_float()) throw NoForm{};
  const DType dtype = integer_dtype(a, b, bad);
  if (!dtype.is_void() && !dtype.is_integral()) throw NoForm{};
  const ir::Intrinsic id = op == Operator::BitAnd  ? ir::intrin::BitwiseAnd
                           : op == Operator::BitOr ? ir::intrin::BitwiseOr
                                                   : ir::intrin::BitwiseXor;
  return result(ctx_.intrin(DType::Int(64), id, {a.value, b.value}), bad, dtype);
}

// Of integers by repeated multiplication, which wraps as the language's does.
Operand OperandMath::power(const Operand& base, const Operand& exponent) {
  if (base.is_bool() || exponent.is_bool()) throw NoForm{};
  Operand a = base, b = exponent;
  if (a.is_float() || b.is_float()) {
    const DType dtype = to_floats(a, b);
    return result(ctx_.intrin(DType::Float(64), ir::intrin::Pow, {a.value, b.value}), either(a.bad, b.bad), dtype);
  }
  constexpr std::int64_t kMost = 64;
  const auto times = ir::const_int(b.value);
  if (!times || *times < 0 || *times > kMost || b.is_element()) throw NoForm{};
  const Expr* bad = a.bad;
  const DType dtype = integer_dtype(a, b, bad);
  const Expr* value = ctx_.i64(1);
  for (std::int64_t i = 0; i < *times; ++i) value = ctx_.binary(BinaryKind::Mul, value, a.value);
  return result(value, bad, dtype);
}

Operand OperandMath::arithmetic(Operator op, Operand a, Operand b) {
  if (op == Operator::BitAnd || op == Operator::BitOr || op == Operator::BitXor) return bits(op, a, b);
  if (op == Operator::Power) return power(a, b);
  const auto kind = computing(op);
  if (!kind || a.is_bool() || b.is_bool()) throw NoForm{};
  if (op != Operator::Divide && !a.is_float() && !b.is_float()) return integers(op, a, b);
  if (op == Operator::FloorDivide || op == Operator::Remainder) throw NoForm{};
  const Expr* bad = either(a.bad, b.bad);
  const bool plain_integers = !a.is_float() && !b.is_float() && !a.is_element() && !b.is_element();
  const DType dtype = to_floats(a, b);
  // Plain integers are not divided by zero.
  if (op == Operator::Divide && plain_integers)
    bad = either(bad, ctx_.binary(BinaryKind::EQ, b.value, ctx_.float_imm(DType::Float(64), 0)));
  return result(ctx_.binary(*kind, a.value, b.value), bad, dtype);
}

Operand OperandMath::negative(Operand x) {
  if (x.is_bool()) throw NoForm{};
  if (!x.is_float()) return result(ir::sub(ctx_, ctx_.i64(0), x.value), x.bad, x.element);
  return result(ctx_.binary(BinaryKind::Sub, zero_like(x.value), x.value), x.bad, x.element);
}

Operand OperandMath::inverted(Operand x) {
  if (x.is_bool()) return {ctx_.not_(x.value), x.bad};
  if (x.is_float()) throw NoForm{};
  return result(ctx_.binary(BinaryKind::Sub, ctx_.i64(-1), x.value), x.bad, x.element);
}

Operand OperandMath::comparison(Operator op, Operand a, Operand b) {
  const auto kind = comparing(op);
  if (!kind) throw NoForm{};
  a = as_number(a);
  b = as_number(b);
  if (a.is_float() || b.is_float()) to_floats(a, b);
  return {ctx_.binary(*kind, a.value, b.value), either(a.bad, b.bad)};
}

}  // namespace rldb::debug
