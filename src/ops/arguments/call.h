// Operators whose text has a form of its own, and functions after R. that are not operators: rows of op/rule.def.
#pragma once

#include "rldb/ops/arguments.h"

namespace rldb::ops {

using CallForm = Result<ir::CallSpec> (*)(ir::Context&, std::string_view name, std::span<const CallArg>);
// Null: the operator has an ordinary signature.
CallForm find_call_form(std::string_view full_name);
// A function after R. that is not an operator: its outermost call, with the others as arguments. Null for
// every other name.
CallForm find_function(std::string_view short_name);
// True for a keyword argument that gives types (out_ty, ty_args, ...); they are appended.
bool take_types(ir::Context& ctx, const CallArg& a, std::vector<const ir::Type*>& out);

namespace form {
#define RLDB_OP_FORM(Op, function) \
  Result<ir::CallSpec> function(ir::Context& ctx, std::string_view name, std::span<const CallArg> args);
#define RLDB_R_FUNCTION(spelling, function) \
  Result<ir::CallSpec> function(ir::Context& ctx, std::string_view name, std::span<const CallArg> args);
#include "rldb/ir/op/rule.def"
}  // namespace form

}  // namespace rldb::ops
