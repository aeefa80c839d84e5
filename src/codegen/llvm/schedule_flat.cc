// Elementwise nests as one loop: when every buffer of a block has the nest's own shape and is indexed by its variables
// in order, the nest is one loop over a flat index, whatever its inner extents are.
#include "codegen/llvm/lowering.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;

bool Lowering::flat_loop(const ir::ForStmt* loop) {
  if (widened_ || flat_index_) return false;
  std::vector<const ir::ForStmt*> nest;
  const ir::Stmt* at = loop;
  while (const auto* l = as<ir::ForStmt>(at)) {
    const bool plain = l->for_kind == ir::ForKind::Serial || l->for_kind == ir::ForKind::Parallel;
    if (l->step || !plain || !ir::is_const(l->min, 0)) return false;
    nest.push_back(l);
    at = l->body;
  }
  if (nest.size() < 2) return false;
  const auto* realize = as<ir::SBlockRealize>(at);
  const ir::SBlock* b = realize ? realize->block : nullptr;
  if (realize) {
    if (b->init || !b->alloc_buffers.empty() || !b->match_buffers.empty() || !ir::is_const(realize->predicate, 1))
      return false;
    if (b->iter_vars.size() != nest.size()) return false;
    for (std::size_t i = 0; i < nest.size(); ++i)
      if (realize->iter_values[i] != nest[i]->var || b->iter_vars[i].kind == ir::IterKind::Reduce) return false;
    at = b->body;
  }
  const auto* store = as<ir::BufferStore>(at);
  if (!store || store->predicate) return false;
  const auto axis = [&](std::size_t i) -> const ir::Var* { return b ? b->iter_vars[i].var : nest[i]->var; };

  // Each access is flat (the axes in order over a compact buffer of the nest's shape) or does not see the axes.
  std::unordered_set<const ir::Buffer*> flat;
  std::unordered_set<const ir::Node*> index_uses;
  bool fits = true;
  const auto examine = [&](const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices) {
    bool whole = indices.size() == nest.size() && buffer->strides.empty() && buffer->dtype.lanes == 1;
    for (std::size_t i = 0; i < indices.size() && whole; ++i)
      whole = indices[i] == axis(i) && ir::expr_equal(buffer->shape[i], nest[i]->extent);
    const auto it = views_.find(buffer);
    whole = whole && it != views_.end() && !it->second.offset;
    if (whole) {
      flat.insert(buffer);
      return true;
    }
    return false;
  };
  if (!examine(store->buffer, store->indices)) return false;
  std::unordered_set<const ir::Var*> axes;
  for (std::size_t i = 0; i < nest.size(); ++i) {
    axes.insert(axis(i));
    axes.insert(nest[i]->var);
  }
  std::vector<const ir::Buffer*> other;
  ir::walk(store->value, [&](const ir::Node* n) {
    if (const auto* l = as<ir::BufferLoad>(n)) {
      if (!l->predicate && examine(l->buffer, l->indices)) return false;
      other.push_back(l->buffer);
    }
    if (const auto* v = as<ir::Var>(n); v && axes.contains(v)) fits = false;
    return fits;
  });
  if (!fits) return false;
  for (const ir::Buffer* o : other)
    if (flat.contains(o)) return false;
  for (const ir::ForStmt* l : nest)
    for (const ir::Var* v : axes) {
      bool uses = false;
      ir::walk(l->extent, [&](const ir::Node* n) {
        uses = uses || n == v;
        return !uses;
      });
      if (uses) return false;
    }

  // A negative extent runs nothing, as the nest would.
  Value* total = i64(1);
  for (const ir::ForStmt* l : nest)
    total =
        b_.CreateMul(total, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index(l->extent), i64(0)), "", true, true);
  flat_buffers_ = flat;
  emit_loop(i64(0), total, i64(1), "flat", [&](Value* iv) {
    flat_index_ = iv;
    stmt(store);
    flat_index_ = nullptr;
  });
  flat_buffers_.clear();
  return true;
}

}  // namespace rldb::codegen
