// Makes functions of groups of bindings and calls of them in their place: what FuseOps and FuseOpsByPattern share,
// which differ in how they find the groups.
#pragma once

#include <unordered_map>
#include <vector>

#include "passes/fusion/block_reads.h"
#include "passes/fusion/function_table.h"
#include "rldb/ir/context.h"

namespace rldb::passes {

// Groups are numbered; a binding without one stays as it is. All bindings of a group stand in one dataflow block.
struct BindingGroups {
  std::unordered_map<const ir::Var*, std::size_t> of;  // by the variable that is bound
  std::vector<ir::Span<ir::NamedAttr>> attrs;          // of the functions, by group
  // Of blocks that whoever found the groups has read already.
  std::unordered_map<const ir::BindingBlock*, BlockReads> reads = {};
};

// The function with its groups replaced by calls; their functions go to `table`. Bindings are moved as little as the
// calls need, in TVM's order. A message when groups depend on each other.
ir::Result<const ir::Function*> group_bindings(ir::Context& ctx, const ir::Function* f, const BindingGroups& groups,
                                               FunctionTable& table, bool lift_constants);

}  // namespace rldb::passes
