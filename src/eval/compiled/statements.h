// The compiled forms of statements, made where they are first run and kept for further calls of the same function.
// Room-private.
#pragma once

#include <mutex>
#include <unordered_map>

#include "eval/compiled/program.h"
#include "rldb/ir/thread_barriers.h"

namespace rldb::eval {

// Used by several calls at once, also on different threads.
class CompiledStatements {
 public:
  // Null: the statement has no compiled form.
  const Program* find(const ir::Stmt* s, const ir::PrimFunc* f, bool places_barriers);
  // Where the threads of a function wait besides its own barriers; null: nowhere.
  const ir::PlacedBarriers* barriers(const ir::PrimFunc* f);

 private:
  const ir::PlacedBarriers* barriers_of(const ir::PrimFunc* f);

  std::mutex mutex_;
  std::unordered_map<const ir::Stmt*, std::unique_ptr<const Program>> made_;
  std::unordered_map<const ir::PrimFunc*, std::unique_ptr<const ir::PlacedBarriers>> barriers_;
};

}  // namespace rldb::eval
