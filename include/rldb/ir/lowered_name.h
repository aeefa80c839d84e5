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
bool is_multiply_add(const Expr* e);

}  // namespace rldb::ir
