// Barriers between accesses of different threads to memory that they share: before each statement that reads what
// another thread may have written since the last barrier, or writes what another may still read, also from one turn of
// a loop to the next. Users: ThreadSync, eval, the JIT.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/context.h"

namespace rldb::ir {

struct BarrierPlan {
  std::unordered_set<const Stmt*> before;  // the statements that a barrier goes before
  bool under_condition = false;            // of those one where not all threads come by
  std::string_view reduced_over;           // the threads that a block reduces over, if any
};

// In launches without blocks (T.launch_thread): TVM's form when it places barriers.
BarrierPlan plan_barriers(Context& ctx, const Stmt* body, std::string_view scope);
const Stmt* with_barriers(Context& ctx, const Stmt* s, std::string_view scope,
                          const std::unordered_set<const Stmt*>& before);
const Call* barrier_over(Context& ctx, std::string_view scope);

// The barriers that the text of a function lacks: in its scheduled form threads meet where TVM's lowering will place a
// barrier. There are none if it has no memory of a block or a warp.
class PlacedBarriers {
 public:
  explicit PlacedBarriers(const Stmt* body);
  ~PlacedBarriers();
  PlacedBarriers(const PlacedBarriers&) = delete;
  PlacedBarriers& operator=(const PlacedBarriers&) = delete;

  bool empty() const { return before_.empty(); }
  const Call* before(const Stmt* s) const;  // null: none
  bool are_below(const Stmt* s) const;      // not before it
  // Why such a kernel cannot run; empty: it can.
  const std::string& obstacle() const { return obstacle_; }
  // The function with these barriers as statements.
  const PrimFunc* written(Context& ctx, const PrimFunc* f) const;

 private:
  std::unique_ptr<Context> own_;  // of the barriers
  std::unordered_map<const Stmt*, const Call*> before_;
  std::string obstacle_;
};

// Whether a kernel's threads wait for each other, by its own barriers or by placed ones.
bool threads_take_turns(const Stmt* body);

}  // namespace rldb::ir
