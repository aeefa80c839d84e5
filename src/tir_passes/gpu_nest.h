// Loop nests that a schedule for GPUs binds to threads. Users: DefaultGPUSchedule, ApplyDefaultSchedule, inline_stages.
#pragma once

#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

// A perfect nest of plain loops around a block, one loop per axis; no extent depends on another loop.
struct GpuNest {
  std::vector<const ir::ForStmt*> loops;
  const ir::SBlockRealize* realize = nullptr;
};

bool find_gpu_nest(const ir::Stmt* s, GpuNest& nest);
// Whether no block is inside of it.
bool is_leaf_block(const ir::SBlock* b);
// Whether it gives addresses away: regions that a block states may tell of accesses that are not in it.
bool takes_addresses(const ir::Stmt* s);

}  // namespace rldb::passes
