// Operators whose text has a form of its own: call_tir and friends, packed calls, closures, print, assert_op.
#pragma once

#include "rldb/ops/arguments.h"

namespace rldb::ops {

using CallForm = Result<ir::CallSpec> (*)(ir::Context&, std::string_view name, std::span<const CallArg>);
// Null: the operator has an ordinary signature.
CallForm find_call_form(std::string_view short_name);
// True when the argument is one of the keywords that bring types (out_ty, ty_args, ...); they are appended.
bool take_types(ir::Context& ctx, const CallArg& a, std::vector<const ir::Type*>& out);

}  // namespace rldb::ops
