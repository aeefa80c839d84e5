// Reduction nests as the schedules see them: loops, the axes they are, one store that updates one element.
#pragma once

#include <optional>
#include <vector>

#include "rldb/ir/stmt.h"

namespace rldb::codegen {

struct ReductionNest {
  std::vector<const ir::ForStmt*> loops;  // outermost first; each is exactly one axis
  std::vector<const ir::IterVar*> axes;   // of the loop with the same index
  const ir::SBlockRealize* realize = nullptr;
  const ir::BufferStore* init = nullptr;
  const ir::BufferStore* update = nullptr;

  // The loop of an axis variable, or -1.
  int loop_of(const ir::Expr* axis) const;
  bool is_reduce(int loop) const { return axes[std::size_t(loop)]->kind == ir::IterKind::Reduce; }
};

bool mentions(const ir::Node* n, const ir::Var* v);
// A perfect nest of plain loops from zero around a block whose axes are those loops, whose init and body are one store
// each to the same element, indexed by its spatial axes, each once; the body reads that buffer there only.
std::optional<ReductionNest> match_reduction(const ir::ForStmt* loop);

}  // namespace rldb::codegen
