// Arithmetic of conditions: dtypes, rounding, and where there is no form.
#include "debug/kernel/operand.h"

#include <limits>

#include "rldb/expression/array.h"
#include "rldb/expression/operator.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/scalar.h"

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

bool fits(std::int64_t v, DType t) {
  if (t.bits >= 64) return t.is_int();
  const std::int64_t one = 1;
  return t.is_uint() ? v >= 0 && v < one << t.bits : v >= -(one << (t.bits - 1)) && v < one << (t.bits - 1);
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

// The wide value as the dtype holds it. Of a scalar in one of the widest dtypes it is a plain number.
Operand OperandMath::result(const Expr* value, const Expr* bad, DType dtype) {
  const bool widest = dtype == DType::Float(64) || dtype == DType::Int(64) || dtype.is_void();
  if (widest) return {value, bad};
  return {ir::cast_to(ctx_, value->dtype(), ir::cast_to(ctx_, dtype, value)), bad, dtype};
}

DType OperandMath::to_floats(Operand& a, Operand& b) {
  DType dtype = DType::Float(64);
  const bool both = a.is_element() && b.is_element();
  if (both) {
    dtype = expression::promote(a.element, b.element);
  } else if (const DType only = a.is_element() ? a.element : b.element; only.is_float()) {
    dtype = only;
    Operand& number = a.is_element() ? b : a;
    number.value = rounded(number.value, dtype);
  }
  for (Operand* x : {&a, &b}) x->value = ir::cast_to(ctx_, DType::Float(64), x->value);
  return dtype.is_float() ? dtype : DType::Float(64);
}

DType OperandMath::integer_dtype(const Operand& a, const Operand& b) {
  if (!a.is_element() && !b.is_element()) return DType::Void();
  if (a.is_element() && b.is_element()) return expression::promote(a.element, b.element);
  const DType dtype = a.is_element() ? a.element : b.element;
  const auto number = ir::const_int(a.is_element() ? b.value : a.value);
  if (!number || !fits(*number, dtype)) throw NoForm{};  // one that does not fit is an error of the language
  return dtype;
}

Operand OperandMath::integers(Operator op, const Operand& a, const Operand& b) {
  const DType dtype = integer_dtype(a, b);
  if (!dtype.is_void() && !dtype.is_integral()) throw NoForm{};
  if (dtype == DType::UInt(64)) throw NoForm{};
  const auto by = ir::const_int(b.value);
  const bool divides = op == Operator::FloorDivide || op == Operator::Remainder;
  if (divides && (!by || *by <= 0)) throw NoForm{};
  return result(ctx_.binary(*computing(op), a.value, b.value), either(a.bad, b.bad), dtype);
}

Operand OperandMath::arithmetic(Operator op, Operand a, Operand b) {
  const auto kind = computing(op);
  if (!kind || a.is_bool() || b.is_bool()) throw NoForm{};
  if (op != Operator::Divide && !a.is_float() && !b.is_float()) return integers(op, a, b);
  if (op == Operator::FloorDivide || op == Operator::Remainder) throw NoForm{};
  const Expr* bad = either(a.bad, b.bad);
  const bool plain = !a.is_element() && !b.is_element();
  DType dtype = to_floats(a, b);
  // Plain numbers are not divided by zero.
  if (op == Operator::Divide && plain)
    bad = either(bad, ctx_.binary(BinaryKind::EQ, b.value, ctx_.float_imm(DType::Float(64), 0)));
  return result(ctx_.binary(*kind, a.value, b.value), bad, dtype);
}

Operand OperandMath::negative(Operand x) {
  if (x.is_bool()) throw NoForm{};
  return result(ctx_.binary(BinaryKind::Sub, zero_like(x.value), x.value), x.bad, x.element);
}

Operand OperandMath::comparison(Operator op, Operand a, Operand b) {
  const auto kind = comparing(op);
  if (!kind) throw NoForm{};
  a = as_number(a);
  b = as_number(b);
  if (a.is_float() || b.is_float()) to_floats(a, b);
  return {ctx_.binary(*kind, a.value, b.value), either(a.bad, b.bad)};
}

// NaN when either is.
Operand OperandMath::larger(const Operand& first, const Operand& second, bool larger) {
  Operand a = first, b = second;
  if (a.is_bool() || b.is_bool()) throw NoForm{};
  const bool real = a.is_float() || b.is_float();
  const DType dtype = real ? to_floats(a, b) : integer_dtype(a, b);
  if (!real && !dtype.is_void() && !dtype.is_integral()) throw NoForm{};
  const Expr* first_wins = ctx_.binary(larger ? BinaryKind::GE : BinaryKind::LE, a.value, b.value);
  if (real) first_wins = ctx_.binary(BinaryKind::Or, first_wins, ctx_.binary(BinaryKind::NE, a.value, a.value));
  return result(ctx_.select(first_wins, a.value, b.value), either(a.bad, b.bad), dtype);
}

Operand OperandMath::call(std::string_view function, std::span<const Operand> args) {
  if (args.size() == 2 && (function == "maximum" || function == "minimum"))
    return larger(args[0], args[1], function == "maximum");
  if (args.size() != 1 || args[0].is_bool()) throw NoForm{};
  const Operand& x = args[0];
  const auto of_float = [&](ir::Intrinsic id) {
    return result(ctx_.intrin(DType::Float(64), id, {x.value}), x.bad, x.element);
  };
  const Expr* infinite = ctx_.float_imm(DType::Float(64), std::numeric_limits<double>::infinity());
  const auto size = [&] { return ctx_.intrin(DType::Float(64), ir::intrin::Fabs, {x.value}); };
  if (!x.is_float()) {
    if (function == "abs" && !x.element.is_uint())
      return result(ctx_.select(ctx_.binary(BinaryKind::LT, x.value, ctx_.i64(0)),
                                ctx_.binary(BinaryKind::Sub, ctx_.i64(0), x.value), x.value),
                    x.bad, x.element);
    if (function == "abs" || function == "floor" || function == "ceil" || function == "trunc") return x;
    throw NoForm{};
  }
  if (function == "abs") return of_float(ir::intrin::Fabs);
  if (function == "sqrt") return of_float(ir::intrin::Sqrt);
  if (function == "floor") return of_float(ir::intrin::Floor);
  if (function == "ceil") return of_float(ir::intrin::Ceil);
  if (function == "trunc") return of_float(ir::intrin::Trunc);
  if (function == "isnan") return {ctx_.binary(BinaryKind::NE, x.value, x.value), x.bad};
  if (function == "isinf") return {ctx_.binary(BinaryKind::EQ, size(), infinite), x.bad};
  if (function == "isfinite") return {ctx_.binary(BinaryKind::LT, size(), infinite), x.bad};
  throw NoForm{};
}

}  // namespace rldb::debug
