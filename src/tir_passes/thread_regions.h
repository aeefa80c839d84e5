// Regions of a buffer that threads share: what one thread accesses, joined over all threads that see the same memory.
#pragma once

#include <string_view>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

// Told of the statements around a block from the outside in (`enter`), it joins regions inside the block (`joined`).
class ThreadRegions {
 public:
  explicit ThreadRegions(ir::Context& ctx) : ctx_(ctx) {}

  void enter(const ir::Stmt* s);
  ir::BufferRegion joined(const ir::BufferRegion& region) const;

 private:
  struct Thread {
    const ir::Var* var;
    std::string_view tag;
    ir::Range range;
  };
  void define(const ir::Var* v, const ir::Expr* value);

  ir::Context& ctx_;
  std::vector<Thread> threads_;
  ir::VarMap values_;  // of axes and let variables that depend on threads, in terms of these
};

}  // namespace rldb::passes
