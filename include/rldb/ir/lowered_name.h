// Calls of functions by the names that code generators use: T.call_llvm_pure_intrin("float32", "llvm.exp", x) and
// T.call_pure_extern("float32", "expf", x). Users: LowerIntrin, eval, the JIT.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rldb/ir/expr.h"
#include "rldb/ir/intrinsic.h"

namespace rldb::ir {

// a * b + c, rounded once or twice: the machine's choice. Both engines round twice.
inline constexpr std::string_view kLlvmMultiplyAdd = "llvm.fmuladd";

// The names of an intrinsic; empty when it has none.
std::string_view llvm_name(Intrinsic id);
std::string library_name(Intrinsic id, DType dtype);  // "expf" of float32, "exp" of float64

// The intrinsic that such a call computes of its arguments after the first; null for other expressions and for names
// that are not known.
const IntrinsicInfo* named_intrinsic(const Expr* e);
// Where the operands of such a call begin: behind the name, and the number of operands that TVM wrote until 2025.
std::size_t first_operand(const Call* c);
bool is_multiply_add(const Expr* e);

// A row of llvm_function.def.
struct LlvmFunction {
  std::string_view name;
  int arity;
  bool of_floats;
  std::size_t index;
};
// Null: the call is of another function, or has too few arguments.
const LlvmFunction* called_llvm_function(const Expr* e);
// Integers that a function takes: not bools; whole bytes in pairs where it swaps them.
bool is_llvm_integer(const LlvmFunction& f, DType element);
// The callee of T.call_llvm_pure_intrin and the like; empty: another call.
std::string_view function_name(const Call* c);

// The literal 1 << 30, alone or in every lane: T.q_multiply_shift only moves then.
bool is_half_factor(const Expr* e);

}  // namespace rldb::ir
