// A call of an operator as text with numbered operands, for operators whose code can only be generated at run time: the
// types of their operands or of their result are open (`R.Tensor` without rank or dtype). Written by code generation
// and the evaluator, read by the implementation registered as `rldb.call_operator`.
#pragma once

#include <string>

#include "rldb/ir/context.h"

namespace rldb::ir {

// The placeholder name of operand `i` in the text.
std::string operand_name(std::size_t i);
// `R.add(operand_0_, operand_1_)`.
std::string operator_text(Context& ctx, const Call* call);
// Whether the type of some operand, or of the result, leaves rank, dims or dtype open. A result does when its dims
// follow from the values of symbols: (m, 2, 4, 1) @ (m, 1, 4).
bool has_open_type(const Call* call);

}  // namespace rldb::ir
