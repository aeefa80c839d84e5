// Arithmetic of conditions in TensorIR, by the rules of the expression language: floats are computed in double
// precision and rounded once to the dtype of the result, integers wrap. User: compile_condition.
#pragma once

#include <span>
#include <string_view>

#include "rldb/expression/expression.h"
#include "rldb/ir/context.h"
#include "rldb/ir/scalar.h"

namespace rldb::debug {

// Thrown for what has no form here; the evaluator of the language decides then.
struct NoForm {};

// A number or a truth value, and where it is invalid: null for nowhere.
struct Operand {
  const ir::Expr* value = nullptr;                  // int64, float64 or bool
  const ir::Expr* bad = nullptr;                    // bool
  runtime::DType element = runtime::DType::Void();  // of a tensor, also computed from one; plain numbers take it
  bool is_bool() const { return value->dtype().is_bool(); }
  bool is_float() const { return value->dtype().is_float(); }
  bool is_element() const { return !element.is_void(); }
};

class OperandMath {
 public:
  explicit OperandMath(ir::Context& ctx) : ctx_(ctx) {}

  Operand arithmetic(expression::Operator op, Operand a, Operand b);
  Operand negative(Operand x);
  Operand comparison(expression::Operator op, Operand a, Operand b);
  Operand inverted(Operand x);  // `~`
  // `abs`, `exp`, `isnan`, `where`, ...
  Operand call(std::string_view function, std::span<const Operand> args);
  // The wide value as the dtype of an element holds it; void: of a plain number.
  Operand result(const ir::Expr* value, const ir::Expr* bad, runtime::DType dtype);

  const ir::Expr* either(const ir::Expr* a, const ir::Expr* b);
  const ir::Expr* to_double(const ir::Expr* value) { return ir::cast_to(ctx_, runtime::DType::Float(64), value); }

 private:
  Operand as_number(Operand x);
  Operand bits(expression::Operator op, const Operand& a, const Operand& b);
  Operand division(expression::Operator op, const Operand& a, const Operand& b, const ir::Expr* bad,
                   runtime::DType dtype);
  Operand power(const Operand& a, const Operand& b);
  Operand integers(expression::Operator op, const Operand& a, const Operand& b);
  // Both as float64, a number rounded to the dtype of an element; returns the dtype of what is computed from them, void
  // if both are plain.
  runtime::DType to_floats(Operand& a, Operand& b);
  // `bad`: where a plain number does not fit the dtype, which is an error of the language.
  runtime::DType integer_dtype(const Operand& a, const Operand& b, const ir::Expr*& bad);
  const ir::Expr* rounded(const ir::Expr* number, runtime::DType dtype);
  // Both in one form; returns the dtype of either of them.
  runtime::DType to_common(Operand& a, Operand& b, const ir::Expr*& bad);
  Operand larger(const Operand& a, const Operand& b, bool larger);
  Operand chosen(const Operand& condition, Operand a, Operand b);
  Operand close(std::span<const Operand> args);
  Operand sign(const Operand& x);
  Operand of_integer(std::string_view function, const Operand& x);
  Operand of_float(std::string_view function, const Operand& x);
  const ir::Expr* zero_like(const ir::Expr* e);

  ir::Context& ctx_;
};

}  // namespace rldb::debug
