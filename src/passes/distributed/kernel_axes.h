// Which axes of a block a kernel's indices follow, and which dims of its parameters are run over together: what
// sharding one dim means for the others. local_kernel.cc and propagate_sharding.cc read it.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_set>
#include <vector>

#include "rldb/ir/arith.h"

namespace rldb::passes {

// The axis that a dim's partition follows when it has this index: the outermost one in it. Null: none.
class IndexReader {
 public:
  IndexReader(ir::Context& ctx, const ir::SBlock* block);
  const ir::Var* axis_of(const ir::Expr* index) { return outermost(analyzer_.simplify(index)); }
  // Whether an index takes all values of a dim of this extent, and no others.
  bool covers(const ir::Expr* index, const ir::Expr* extent);

 private:
  const ir::Var* outermost(const ir::Expr* e);
  const ir::Var* of_sum(const ir::BinaryExpr* sum);

  ir::Context& ctx_;
  ir::Analyzer analyzer_;
  std::unordered_set<const ir::Var*> axes_;
  std::vector<std::pair<const ir::Var*, const ir::Expr*>> extents_;  // of axes that begin at 0
};

// Each access of a block's body and init, not those of blocks inside.
void for_each_access(const ir::SBlock* block,
                     const std::function<void(const ir::Buffer*, ir::Span<const ir::Expr*>)>& access);

struct ParamDim {
  std::size_t param = 0;  // position among the kernel's parameters
  std::size_t dim = 0;
};
// Dims that are divided together, also where they meet through buffers of the kernel's own. Dims that stand alone are
// left out.
std::vector<std::vector<ParamDim>> dims_run_together(ir::Context& ctx, const ir::PrimFunc* f);

}  // namespace rldb::passes
