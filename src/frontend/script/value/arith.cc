// Python operators on parse-time values, scalar expressions and Relax values.
#include <fmt/format.h>

#include <cmath>

#include "frontend/script/relax/relax.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/expr.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/unary.h"
#include "rldb/ops/arguments.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/integer.h"

namespace rldb::frontend::script {

namespace {

enum class Op : std::uint8_t {
#define RLDB_ARITH_OP(Kind, ...) Kind,
#include "frontend/script/value/arith_op.def"
  Unknown,
};

Op op_of(std::string_view s) {
  static const std::unordered_map<std::string_view, Op> table = {
#define RLDB_ARITH_OP(Kind, sign, ...) {sign, Op::Kind},
#include "frontend/script/value/arith_op.def"
  };
  const auto it = table.find(s);
  return it == table.end() ? Op::Unknown : it->second;
}

bool is_comparison(Op op) { return op >= Op::Eq && op <= Op::Ge; }

// ---- Python numbers ----

using support::floor_div;

template <class T>
std::optional<bool> compare(Op op, T a, T b) {
  switch (op) {
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    case Op::Gt:
      return a > b;
    case Op::Ge:
      return a >= b;
#define RLDB_ARITH_OP(Kind, sign, compares, of_floats, of_integers, of_expressions, is_intrinsic) \
  RLDB_CST_ANSWER(CASE, compares, case Op::Kind:)
#include "frontend/script/value/arith_op.def"
    case Op::Unknown:
      break;  // not a comparison
  }
  return std::nullopt;
}

double as_double(const Val& v) { return v.is(ValKind::Float) ? v.floating : double(v.integer); }
bool truth(const Val& v) { return v.is(ValKind::Float) ? v.floating != 0 : v.integer != 0; }

Val float_result(Reader& r, Op op, double a, double b, Node at) {
  if (auto c = compare(op, a, b)) return Val::of_bool(*c);
  switch (op) {
    case Op::Add:
      return Val::of_float(a + b);
    case Op::Sub:
      return Val::of_float(a - b);
    case Op::Mul:
      return Val::of_float(a * b);
    case Op::Div:
      if (b == 0) return r.error(at, diag::DivisionByZero);
      return Val::of_float(a / b);
    case Op::FloorDiv:
      if (b == 0) return r.error(at, diag::DivisionByZero);
      return Val::of_float(std::floor(a / b));
    case Op::Mod:
      if (b == 0) return r.error(at, diag::DivisionByZero);
      return Val::of_float(a - std::floor(a / b) * b);
    case Op::Pow:
      return Val::of_float(std::pow(a, b));
#define RLDB_ARITH_OP(Kind, sign, compares, of_floats, of_integers, of_expressions, is_intrinsic) \
  RLDB_CST_ANSWER(CASE, of_floats, case Op::Kind:)
#include "frontend/script/value/arith_op.def"
    case Op::Unknown:
      break;
  }
  return r.error(at, diag::BadOperands, at.text(), "a float", "a float");
}

std::optional<std::int64_t> int_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
    if (result == 0 || result == 1) break;
  }
  return result;
}

Val int_result(Reader& r, Op op, std::int64_t a, std::int64_t b, Node at) {
  if (auto c = compare(op, a, b)) return Val::of_bool(*c);
  std::int64_t out = 0;
  bool overflow = false;
  switch (op) {
    case Op::Add:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case Op::Sub:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case Op::Mul:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    case Op::Div:
      return float_result(r, op, double(a), double(b), at);
    case Op::FloorDiv:
    case Op::Mod:
      if (b == 0) return r.error(at, diag::DivisionByZero);
      if (b == -1 && a == INT64_MIN) {
        overflow = true;
        break;
      }
      out = op == Op::FloorDiv ? floor_div(a, b) : a - floor_div(a, b) * b;
      break;
    case Op::Pow: {
      if (b < 0) return Val::of_float(std::pow(double(a), double(b)));
      const auto p = int_power(a, b);
      overflow = !p;
      out = p.value_or(0);
      break;
    }
    case Op::Shl:
      overflow = b < 0 || b > 62 || (a != 0 && std::abs(a) > (INT64_MAX >> b));
      if (!overflow) out = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
      break;
    case Op::Shr:
      out = b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
      break;
    case Op::BitAnd:
      out = a & b;
      break;
    case Op::BitOr:
      out = a | b;
      break;
    case Op::BitXor:
      out = a ^ b;
      break;
#define RLDB_ARITH_OP(Kind, sign, compares, of_floats, of_integers, of_expressions, is_intrinsic) \
  RLDB_CST_ANSWER(CASE, of_integers, case Op::Kind:)
#include "frontend/script/value/arith_op.def"
    case Op::Unknown:
      return r.error(at, diag::BadOperands, at.text(), "an integer", "an integer");
  }
  if (overflow) return r.error(at, diag::NumberTooBig, at.text());
  return Val::of_int(out);
}

Val number_result(Reader& r, Op op, const Val& a, const Val& b, Node at) {
  if (op == Op::And) return truth(a) ? b : a;
  if (op == Op::Or) return truth(a) ? a : b;
  if (a.is(ValKind::Float) || b.is(ValKind::Float)) return float_result(r, op, as_double(a), as_double(b), at);
  Val v = int_result(r, op, a.integer, b.integer, at);
  const bool bits = op == Op::BitAnd || op == Op::BitOr || op == Op::BitXor;
  if (bits && a.is(ValKind::Bool) && b.is(ValKind::Bool) && v.is(ValKind::Int)) return Val::of_bool(v.integer != 0);
  return v;
}

// ---- other parse-time values ----

bool same_value(const Val& a, const Val& b) {
  if (a.is_number() && b.is_number()) return as_double(a) == as_double(b);
  if (a.kind != b.kind) return false;
  if (a.is(ValKind::None)) return true;
  if (a.is(ValKind::Str)) return a.text == b.text;
  if (a.is(ValKind::DType)) return a.dtype == b.dtype;
  if (a.is_sequence()) return std::ranges::equal(a.items, b.items, same_value);
  return a.pointer != nullptr && a.pointer == b.pointer;
}

// nullopt if the operation on these operands has no parse-time meaning.
std::optional<Val> python_result(Reader& r, Op op, const Val& a, const Val& b, Node at) {
  if (op == Op::Add && a.is(ValKind::Str) && b.is(ValKind::Str))
    return Val::of_str(r.keep(std::string(a.text) + std::string(b.text)));
  if (op == Op::Add && a.is_sequence() && b.is_sequence()) {
    std::vector<Val> items(a.items.begin(), a.items.end());
    items.insert(items.end(), b.items.begin(), b.items.end());
    return Val::of_list(a.kind, r.keep(items));
  }
  if (op == Op::Mul && a.is_sequence() && b.is(ValKind::Int)) {
    if (b.integer > 10000) return r.error(at, diag::NumberTooBig, at.text());
    std::vector<Val> items;
    for (std::int64_t i = 0; i < b.integer; ++i) items.insert(items.end(), a.items.begin(), a.items.end());
    return Val::of_list(a.kind, r.keep(items));
  }
  if (op == Op::In || op == Op::NotIn) {
    if (!b.is_sequence()) return std::nullopt;
    bool found = false;
    for (const Val& item : b.items) found = found || same_value(a, item);
    return Val::of_bool(found == (op == Op::In));
  }
  if (op == Op::Is || op == Op::IsNot) return Val::of_bool(same_value(a, b) == (op == Op::Is));
  const bool plain = !a.expr() && !b.expr();
  if (plain && op == Op::Eq) return Val::of_bool(same_value(a, b));
  if (plain && op == Op::Ne) return Val::of_bool(!same_value(a, b));
  return std::nullopt;
}

// ---- scalars ----

std::optional<ir::BinaryKind> node_of(Op op) {
  switch (op) {
    case Op::Add:
      return ir::BinaryKind::Add;
    case Op::Sub:
      return ir::BinaryKind::Sub;
    case Op::Mul:
      return ir::BinaryKind::Mul;
    case Op::Div:
      return ir::BinaryKind::Div;
    case Op::FloorDiv:
      return ir::BinaryKind::FloorDiv;
    case Op::Mod:
      return ir::BinaryKind::FloorMod;
    case Op::Eq:
      return ir::BinaryKind::EQ;
    case Op::Ne:
      return ir::BinaryKind::NE;
    case Op::Lt:
      return ir::BinaryKind::LT;
    case Op::Le:
      return ir::BinaryKind::LE;
    case Op::Gt:
      return ir::BinaryKind::GT;
    case Op::Ge:
      return ir::BinaryKind::GE;
    case Op::And:
      return ir::BinaryKind::And;
    case Op::Or:
      return ir::BinaryKind::Or;
#define RLDB_ARITH_OP(Kind, sign, compares, of_floats, of_integers, of_expressions, is_intrinsic) \
  RLDB_CST_ANSWER(CASE, of_expressions, case Op::Kind:)
#include "frontend/script/value/arith_op.def"
    case Op::Unknown:
      break;
  }
  return std::nullopt;
}

std::optional<ir::Intrinsic> intrinsic_of(Op op) {
  switch (op) {
    case Op::Pow:
      return ir::intrin::Pow;
    case Op::Shl:
      return ir::intrin::ShiftLeft;
    case Op::Shr:
      return ir::intrin::ShiftRight;
    case Op::BitAnd:
      return ir::intrin::BitwiseAnd;
    case Op::BitOr:
      return ir::intrin::BitwiseOr;
    case Op::BitXor:
      return ir::intrin::BitwiseXor;
#define RLDB_ARITH_OP(Kind, sign, compares, of_floats, of_integers, of_expressions, is_intrinsic) \
  RLDB_CST_ANSWER(CASE, is_intrinsic, case Op::Kind:)
#include "frontend/script/value/arith_op.def"
    case Op::Unknown:
      break;
  }
  return std::nullopt;
}

// A call of Relax with a scalar result is bound before arithmetic uses it: what computes scalars cannot call Relax.
const ir::Expr* without_relax_call(Reader& r, const ir::Expr* e, Node at) {
  const auto* call = ir::as<ir::Call>(e);
  if (!call || r.in_tir() || !r.fn || !r.fn->body) return e;
  const auto* op = ir::as<ir::Op>(call->callee);
  return op && ir::is_tir_op(op) ? e : emit_temporary(r, e, at);
}

// A Python number takes the dtype of the other operand.
const ir::Expr* scalar_beside(Reader& r, const Val& v, const Val& other, Node at) {
  if (!v.is_number() || !other.expr()) return to_scalar(r, v, at);
  const ir::DType t = other.expr()->dtype().element();
  if (t.is_float()) return r.ctx.literal(t, as_double(v));
  if (v.is(ValKind::Bool)) return r.ctx.bool_imm(v.integer != 0);
  if (v.is(ValKind::Int) && (t.is_int() || t.is_uint())) return r.ctx.int_imm(t, v.integer);
  return to_scalar(r, v, at, t.is_bool() ? ir::DType::Int(32) : ir::DType::Void());
}

Val scalar_result(Reader& r, Op op, const Val& va, const Val& vb, Node at) {
  const ir::Expr* a = scalar_beside(r, va, vb, at);
  const ir::Expr* b = scalar_beside(r, vb, va, at);
  if (!a || !b) return {};
  a = without_relax_call(r, a, at);
  b = without_relax_call(r, b, at);
  if (op == Op::Div && a->dtype().is_integral() && b->dtype().is_integral())
    return r.error_hint(at,
                        r.in_tir() ? "write `//` for floor division, `T.Div` or `T.truncdiv` for truncated division"
                                   : "write `//` for floor division",
                        diag::IntegerDivision);
  if (const auto kind = node_of(op)) {
    auto made = ir::make_binary(r.ctx, *kind, a, b);
    if (made.ok()) return Val::of(r.at(*made, at));
    r.report(at.span(), std::move(made).error());
    return {};
  }
  if (const auto intrinsic = intrinsic_of(op)) {
    auto matched = ir::match_dtypes(r.ctx, a, b);
    if (!matched.ok()) {
      r.report(at.span(), std::move(matched).error());
      return {};
    }
    if (op == Op::Pow && matched->first->dtype().is_integral())
      return r.error(at, diag::PowerOfIntegers, runtime::to_string(matched->first->dtype()));
    return Val::of(r.at(ir::make_bits(r.ctx, *intrinsic, matched->first, matched->second), at));
  }
  return r.error(at, diag::BadOperands, at.text(), describe(r, va), describe(r, vb));
}

Val relax_result(Reader& r, std::string_view op, std::span<const Val> operands, Node at) {
  std::vector<const ir::Expr*> args;
  for (const Val& v : operands) {
    args.push_back(to_leaf(r, v, at));
    if (!args.back()) return {};
  }
  return emit_call(r, ops::operator_call(r.ctx, op, args), at);
}

}  // namespace

Val apply_binary(Reader& r, std::string_view text, const Val& a, const Val& b, Node at) {
  if (a.poison() || b.poison()) return {};
  const Op op = op_of(text);
  if (a.is_number() && b.is_number()) return number_result(r, op, a, b, at);
  if (auto v = python_result(r, op, a, b, at)) return *v;
  if (is_relax_value(a) || is_relax_value(b)) {
    if (op == Op::And || op == Op::Or)
      return r.error_hint(at, fmt::format("write `R.logical_{}`", text), diag::PythonLogic, text);
    const Val operands[] = {a, b};
    return relax_result(r, text, operands, at);
  }
  const auto scalar = [](const Val& v) { return v.is_number() || v.expr() || v.is(ValKind::Region); };
  if (!scalar(a) || !scalar(b)) {
    if (is_comparison(op) && (a.is(ValKind::None) || b.is(ValKind::None))) return Val::of_bool(op == Op::Ne);
    return r.error(at, diag::BadOperands, text, describe(r, a), describe(r, b));
  }
  return scalar_result(r, op, a, b, at);
}

Val apply_unary(Reader& r, std::string_view op, const Val& a, Node at) {
  if (a.poison()) return {};
  if (a.is_number()) {
    if (op == "+") return a;
    if (op == "~") return a.is(ValKind::Float) ? r.error(at, diag::BadOperand, op, "a float") : Val::of_int(~a.integer);
    if (a.is(ValKind::Float)) return Val::of_float(-a.floating);
    return Val::of_int(static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a.integer)));
  }
  if (is_relax_value(a)) return op == "+" ? a : relax_result(r, op, {&a, 1}, at);
  const ir::Expr* e = to_operand(r, a, at);
  if (!e) return {};
  if (op == "+") return Val::of(e);
  e = without_relax_call(r, e, at);
  if (!e->dtype().is_integral() && !e->dtype().is_float())
    return r.error(at, diag::BadOperand, op == "neg" ? "-" : op, describe(r, a));
  if (op == "~")
    return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.intrin(e->dtype(), ir::intrin::BitwiseNot, {e}), at)));
  // TVM: -x is x * -1; a literal folds.
  auto made = ir::make_binary(r.ctx, ir::BinaryKind::Mul, e, r.ctx.literal(e->dtype().element(), -1));
  if (made.ok()) return Val::of(r.at(*made, at));
  r.report(at.span(), std::move(made).error());
  return {};
}

Val apply_not(Reader& r, const Val& a, Node at) {
  if (a.poison()) return {};
  if (a.is_number()) return Val::of_bool(!truth(a));
  if (is_relax_value(a)) return r.error_hint(at, "write `R.logical_not`", diag::PythonLogic, "not");
  const ir::Expr* e = to_operand(r, a, at);
  if (!e) return {};
  if (!e->dtype().is_integral() && !e->dtype().is_float()) return r.error(at, diag::BadOperand, "not", describe(r, a));
  if (!e->dtype().is_bool()) {
    // Python's truth value of a number.
    auto zero = ir::make_binary(r.ctx, ir::BinaryKind::EQ, e, r.ctx.literal(e->dtype().element(), 0));
    if (zero.ok()) return Val::of(*zero);
    r.report(at.span(), std::move(zero).error());
    return {};
  }
  return Val::of(r.at(ir::logical_not(r.ctx, e), at));
}

}  // namespace rldb::frontend::script
