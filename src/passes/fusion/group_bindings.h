// Turns groups of bindings into functions and replaces them by calls: the part shared by FuseOps and FuseOpsByPattern,
// which differ in how they find the groups.
#pragma once

#include <unordered_map>
#include <vector>

#include "passes/fusion/block_reads.h"
#include "passes/fusion/function_table.h"
#include "rldb/ir/context.h"

namespace rldb::passes {

// Groups are numbered; a binding without a group stays as it is. All bindings of a group are in one dataflow block.
struct BindingGroups {
  std::unordered_map<const ir::Var*, std::size_t> of;  // by the variable that the binding defines
  std::vector<ir::Span<ir::NamedAttr>> attrs;          // of the functions, by group
  // For blocks that the finder of the groups has already analysed.
  std::unordered_map<const ir::BindingBlock*, BlockReads> reads = {};
};

// The function with its groups replaced by calls; the functions of the groups go to `table`. Bindings are moved no more
// than the calls require, in TVM's order. A message when groups depend on each other.
ir::Result<const ir::Function*> group_bindings(ir::Context& ctx, const ir::Function* f, const BindingGroups& groups,
                                               FunctionTable& table, bool lift_constants);

}  // namespace rldb::passes
