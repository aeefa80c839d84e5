// Where the shared allocations of one kernel lie in one buffer of bytes: MergeSharedMemoryAllocations.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/stmt.h"

namespace rldb::passes {

struct SharedMemoryPlan {
  std::vector<const ir::AllocBuffer*> allocations;                      // in the order of the text
  std::unordered_map<const ir::Var*, const ir::AllocBuffer*> by_data;   // pointers to them
  std::unordered_map<const ir::AllocBuffer*, const ir::Expr*> offsets;  // in bytes
  const ir::Expr* size = nullptr;                                       // of all, in bytes
  std::string_view refused;                                             // a buffer that is not flat
};

// Allocations of `scope` below `kernel`, the outermost launch of threads.
SharedMemoryPlan plan_shared_memory(ir::Context& ctx, const ir::AttrStmt* kernel, std::string_view scope);

}  // namespace rldb::passes
