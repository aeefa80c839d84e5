// The elementwise functions of conditions, as the language computes them: in double, by the C library.
#include <limits>

#include "debug/kernel/operand.h"
#include "rldb/expression/array.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/trigonometry.h"

namespace rldb::debug {

using ir::BinaryKind;
using ir::Expr;
using runtime::DType;

namespace {

struct Row {
  std::string_view name;
  ir::Intrinsic id;
};

// Those that make floats of integers, and those that leave integers alone.
constexpr Row kToFloat[] = {{"sqrt", ir::intrin::Sqrt}, {"exp", ir::intrin::Exp},     {"log", ir::intrin::Log},
                            {"log2", ir::intrin::Log2}, {"log10", ir::intrin::Log10}, {"sin", ir::intrin::Sin},
                            {"cos", ir::intrin::Cos},   {"tanh", ir::intrin::Tanh}};
constexpr Row kToWhole[] = {{"floor", ir::intrin::Floor},
                            {"ceil", ir::intrin::Ceil},
                            {"trunc", ir::intrin::Trunc},
                            {"round", ir::intrin::Nearbyint}};

template <std::size_t N>
const Row* find(const Row (&rows)[N], std::string_view name) {
  for (const Row& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

// NaN when either is.
Operand OperandMath::larger(const Operand& first, const Operand& second, bool larger) {
  Operand a = first, b = second;
  const Expr* bad = either(a.bad, b.bad);
  const DType dtype = to_common(a, b, bad);
  const Expr* first_wins = ctx_.binary(larger ? BinaryKind::GT : BinaryKind::LT, a.value, b.value);
  if (a.is_float()) first_wins = ctx_.binary(BinaryKind::Or, first_wins, ctx_.binary(BinaryKind::NE, a.value, a.value));
  return result(ctx_.select(first_wins, a.value, b.value), bad, dtype);
}

Operand OperandMath::chosen(const Operand& condition, Operand a, Operand b) {
  const Expr* holds = condition.is_bool()
                          ? condition.value
                          : ctx_.binary(BinaryKind::NE, condition.value, ctx_.literal(condition.value->dtype(), 0));
  const Expr* bad = either(condition.bad, either(a.bad, b.bad));
  if (a.is_bool() && b.is_bool()) return {ctx_.select(holds, a.value, b.value), bad};
  // Of two plain numbers, too, the language makes a tensor.
  DType dtype = to_common(a, b, bad);
  if (dtype.is_void()) dtype = a.value->dtype();
  return result(ctx_.select(holds, a.value, b.value), bad, dtype);
}

// |x - y| <= atol + rtol * |y|; of numbers that are not finite: equal.
Operand OperandMath::close(std::span<const Operand> args) {
  const auto number = [&](std::size_t i, double otherwise) {
    return i < args.size() ? to_double(args[i].value) : ctx_.float_imm(DType::Float(64), otherwise);
  };
  for (const Operand& a : args)
    if (a.is_bool()) throw NoForm{};
  const Expr *x = to_double(args[0].value), *y = to_double(args[1].value);
  const Expr *rtol = number(2, 1e-5), *atol = number(3, 1e-8);
  const auto size = [&](const Expr* e) { return ctx_.intrin(DType::Float(64), ir::intrin::Fabs, {e}); };
  const Expr* infinite = ctx_.float_imm(DType::Float(64), std::numeric_limits<double>::infinity());
  const auto finite = [&](const Expr* e) { return ctx_.binary(BinaryKind::LT, size(e), infinite); };
  const Expr* allowed = ctx_.binary(BinaryKind::Add, atol, ctx_.binary(BinaryKind::Mul, rtol, size(y)));
  const Expr* near = ctx_.binary(BinaryKind::LE, size(ctx_.binary(BinaryKind::Sub, x, y)), allowed);
  const Expr* same = ctx_.binary(BinaryKind::EQ, x, y);
  Operand out{ctx_.select(ctx_.binary(BinaryKind::And, finite(x), finite(y)), near, same)};
  for (const Operand& a : args) out.bad = either(out.bad, a.bad);
  return out;
}

// NaN of NaN.
Operand OperandMath::sign(const Operand& x) {
  const DType wide = x.value->dtype();
  const Expr *none = ctx_.literal(wide, 0), *up = ctx_.literal(wide, 1), *down = ctx_.literal(wide, -1);
  const Expr* below = ctx_.select(ctx_.binary(BinaryKind::LT, x.value, none), down, none);
  const Expr* value = ctx_.select(ctx_.binary(BinaryKind::GT, x.value, none), up, below);
  if (x.is_float()) value = ctx_.select(ctx_.binary(BinaryKind::NE, x.value, x.value), x.value, value);
  return result(value, x.bad, x.element);
}

Operand OperandMath::of_integer(std::string_view function, const Operand& x) {
  if (find(kToWhole, function)) return x;
  if (const Row* row = find(kToFloat, function)) {
    const DType dtype = x.is_element() ? expression::float_of(x.element) : DType::Void();
    return result(ctx_.intrin(DType::Float(64), row->id, {to_double(x.value)}), x.bad, dtype);
  }
  if (function == "abs") {
    if (x.element.is_uint()) return x;
    const Expr* none = ctx_.i64(0);
    const Expr* opposite = ctx_.binary(BinaryKind::Sub, none, x.value);
    return result(ctx_.select(ctx_.binary(BinaryKind::LT, x.value, none), opposite, x.value), x.bad, x.element);
  }
  if (function == "isnan" || function == "isinf") return {ctx_.bool_imm(false), x.bad};
  if (function == "isfinite") return {ctx_.bool_imm(true), x.bad};
  throw NoForm{};
}

Operand OperandMath::of_float(std::string_view function, const Operand& x) {
  const auto computed = [&](ir::Intrinsic id) {
    return result(ctx_.intrin(DType::Float(64), id, {x.value}), x.bad, x.element);
  };
  if (const Row* row = find(kToFloat, function)) return computed(row->id);
  if (const Row* row = find(kToWhole, function)) return computed(row->id);
  if (function == "abs") return computed(ir::intrin::Fabs);
  if (function == "isnan") return {ctx_.binary(BinaryKind::NE, x.value, x.value), x.bad};
  const Expr* infinite = ctx_.float_imm(DType::Float(64), std::numeric_limits<double>::infinity());
  const Expr* size = ctx_.intrin(DType::Float(64), ir::intrin::Fabs, {x.value});
  if (function == "isinf") return {ctx_.binary(BinaryKind::EQ, size, infinite), x.bad};
  if (function == "isfinite") return {ctx_.binary(BinaryKind::LT, size, infinite), x.bad};
  throw NoForm{};
}

Operand OperandMath::call(std::string_view function, std::span<const Operand> args) {
  const std::size_t count = args.size();
  if (count == 2 && (function == "maximum" || function == "minimum"))
    return larger(args[0], args[1], function == "maximum");
  if (count == 3 && function == "clip") return larger(larger(args[0], args[1], true), args[2], false);
  if (count == 3 && function == "where") return chosen(args[0], args[1], args[2]);
  if (count >= 2 && count <= 4 && (function == "isclose" || function == "allclose")) return close(args);
  if (count != 1 || args[0].is_bool()) throw NoForm{};
  if (function == "sign") return sign(args[0]);
  return args[0].is_float() ? of_float(function, args[0]) : of_integer(function, args[0]);
}

}  // namespace rldb::debug
