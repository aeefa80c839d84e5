// Loop nests as the steps see them: loops, their axes, the store inside. Internal to the room.
#pragma once

#include <optional>
#include <vector>

#include "rldb/ir/stmt.h"

namespace rldb::schedule {

// A perfect nest of plain loops from zero, outermost first, none of whose extents depends on another's variable.
// `inner` is its body.
struct LoopNest {
  std::vector<const ir::ForStmt*> loops;
  const ir::Stmt* inner = nullptr;
};
std::optional<LoopNest> match_nest(const ir::ForStmt* loop);

struct ReductionNest {
  struct Result {
    const ir::BufferStore* init = nullptr;
    const ir::BufferStore* update = nullptr;
    const ir::Expr* value = nullptr;  // that is stored
  };
  std::vector<const ir::ForStmt*> loops;  // outermost first; each is exactly one axis
  std::vector<const ir::IterVar*> axes;   // of the loop with the same index
  const ir::SBlock* block = nullptr;
  std::vector<Result> results;
  const ir::BufferStore* init = nullptr;  // of the first
  const ir::BufferStore* update = nullptr;

  // The loop of an axis variable, or -1.
  int loop_of(const ir::Expr* axis) const;
  bool is_reduce(int loop) const { return axes[std::size_t(loop)]->kind == ir::IterKind::Reduce; }
  const ir::Expr* extent(int loop) const { return loops[std::size_t(loop)]->extent; }
};

// A nest around a block whose axes are its loops, whose init and body are one store each to the same element, indexed
// by its spatial axes, each once, or by these added to something without axes (a result without dimensions has none);
// the body reads that buffer only there.
std::optional<ReductionNest> match_reduction(const ir::ForStmt* loop);
// The same with one or more results, in buffers of their own at the same indices, whose values are all calculated
// before the first is stored.
std::optional<ReductionNest> match_reductions(const ir::ForStmt* loop);

// A nest around one store, whose axes are its loops in order; without a block the axes are the loops' variables.
struct ElementwiseNest {
  std::vector<const ir::ForStmt*> loops;
  std::vector<const ir::Var*> axes;
  const ir::BufferStore* store = nullptr;
};
std::optional<ElementwiseNest> match_elementwise(const ir::ForStmt* loop);

bool mentions(const ir::Node* n, const ir::Var* v);
// Neighbours in the last dimension are neighbours in memory.
bool is_dense(const ir::Buffer* b);
bool moves_with(const ir::BufferLoad* l, const ir::Var* axis);
// Neighbours along the axis are neighbours in memory: it is in the last index only, by itself, in a sum, or with
// something subtracted.
bool runs_along(const ir::BufferLoad* l, const ir::Var* axis);
// Whether each lane of a vector can compute the expression: no calls of functions, no vectors, no bindings.
bool has_vector_form(const ir::Expr* e);

}  // namespace rldb::schedule
