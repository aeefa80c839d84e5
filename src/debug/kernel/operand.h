// Arithmetic of conditions in TensorIR, by the rules of the expression language: floats are computed in double
// precision and rounded once to the dtype of the result, integers wrap. User: compile_condition.
#pragma once

#include <span>
#include <string_view>

#include "rldb/expression/expression.h"
#include "rldb/ir/context.h"

namespace rldb::debug {

// Thrown for what has no form here; the evaluator of the language decides then.
struct NoForm {};

// A number or a truth value, and where it is invalid: null for nowhere.
struct Operand {
  const ir::Expr* value = nullptr;                  // int64, float64 or bool
  const ir::Expr* bad = nullptr;                    // bool
  runtime::DType element = runtime::DType::Void();  // of a tensor, also computed from one; numbers take it
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
  // `abs`, `sqrt`, `isnan`, ...
  Operand call(std::string_view function, std::span<const Operand> args);

  const ir::Expr* either(const ir::Expr* a, const ir::Expr* b);

 private:
  Operand as_number(Operand x);
  Operand integers(expression::Operator op, const Operand& a, const Operand& b);
  // Both as float64, a number rounded to the dtype of an element; returns the dtype of what is computed from them.
  runtime::DType to_floats(Operand& a, Operand& b);
  runtime::DType integer_dtype(const Operand& a, const Operand& b);
  const ir::Expr* rounded(const ir::Expr* number, runtime::DType dtype);
  Operand result(const ir::Expr* value, const ir::Expr* bad, runtime::DType dtype);
  Operand larger(const Operand& a, const Operand& b, bool larger);
  const ir::Expr* zero_like(const ir::Expr* e);

  ir::Context& ctx_;
};

}  // namespace rldb::debug
