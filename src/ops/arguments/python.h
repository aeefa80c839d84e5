// What TVM's Python functions do with their arguments besides binding them to names.
#pragma once

#include "ops/arguments/call.h"

namespace rldb::ops {

// Before binding: arguments that are left out because another one says them, and those in a shorter form.
std::vector<CallArg> adapt_arguments(ir::Context& ctx, std::string_view short_name, std::span<const CallArg> args);
// After binding: values that are computed from others. A failure names the argument by its index in `args`.
Result<support::Unit> finish_arguments(ir::Context& ctx, const OpInfo& info, std::span<const CallArg> args,
                                       std::vector<const ir::Expr*>& values);
// R.linear, R.masked_fill: functions that make several calls; the outermost one, the others as its arguments. Null for
// every other name.
CallForm find_composition(std::string_view short_name);

}  // namespace rldb::ops
