// How TVM's Python functions process their arguments besides binding them to names: the rows ADAPT and FINISH of
// op/rule.def.
#pragma once

#include "ops/arguments/call.h"

namespace rldb::ops {

// Before binding: arguments that are omitted because another one implies them, and those in a shorter form.
std::vector<CallArg> adapt_arguments(ir::Context& ctx, std::string_view full_name, std::span<const CallArg> args);

// A call whose arguments are bound; a value is null if an optional argument is omitted.
struct BoundCall {
  const OpInfo& info;
  std::span<const CallArg> args;  // as written
  std::vector<const ir::Expr*> values;
  std::string_view op;  // the operator that is called
};
// Computes values from others. A failure names the argument by its index in `args`.
Result<support::Unit> finish_arguments(ir::Context& ctx, BoundCall& call);

namespace form {
#define RLDB_OP_ADAPT(Op, function) void function(ir::Context& ctx, std::vector<CallArg>& args);
#define RLDB_OP_FINISH(Op, function) Result<support::Unit> function(ir::Context& ctx, BoundCall& call);
#include "rldb/ir/op/rule.def"
}  // namespace form

}  // namespace rldb::ops
