// Elementwise nests as one loop: when every buffer of a block has the nest's own shape and is indexed by its variables
// in order, the nest is one loop over a flat index, whatever its inner extents are. Large outputs are written past the
// caches, which saves reading them.
#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;

namespace {
constexpr std::uint64_t kStreamBytes = 32 << 20;
}

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
  if (nest.empty()) return false;
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
  const DType out = store->buffer->dtype;
  const auto known = llvm::dyn_cast<llvm::ConstantInt>(total);
  const std::uint64_t lanes = options_.vector_bytes / std::max<std::size_t>(1, out.bytes());
  // Streaming pays for outputs that no cache holds; it wants whole aligned vectors and buffers that do not overlap.
  const bool stream = noalias_ && lanes > 1 && out.bytes() * lanes == options_.vector_bytes && !out.is_bool() &&
                      (!known || known->getZExtValue() * out.bytes() >= kStreamBytes);
  if (nest.size() < 2 && !stream) return false;

  flat_buffers_ = flat;
  const auto body = [&](Value* iv) {
    flat_index_ = iv;
    stmt(store);
    flat_index_ = nullptr;
  };
  const std::int64_t chunk =
      chunk_of(known ? std::optional<std::int64_t>(std::int64_t(known->getZExtValue())) : std::nullopt, 1);
  const auto plain = [&](Value* begin, Value* end) { emit_loop(begin, end, i64(1), "flat", body, nullptr, chunk); };
  if (!stream) {
    plain(i64(0), total);
    flat_buffers_.clear();
    return true;
  }
  // [0, first) and [last, total) one way, what is between them the other. Small outputs are all in the first part.
  const auto width = std::int64_t(out.bytes());
  Value* address = b_.CreatePtrToInt(view(store->buffer).base, b_.getInt64Ty());
  Value* ahead = b_.CreateAnd(b_.CreateNeg(address), i64(options_.vector_bytes - 1));
  Value* large = b_.CreateICmpUGE(total, i64(std::int64_t(kStreamBytes) / width));
  large = b_.CreateAnd(large, b_.CreateICmpEQ(b_.CreateAnd(address, i64(width - 1)), i64(0)));
  Value* first = b_.CreateSelect(large, b_.CreateUDiv(ahead, i64(width)), total);
  Value* between = b_.CreateAnd(b_.CreateSub(total, first), i64(-std::int64_t(lanes)));
  Value* last = b_.CreateAdd(first, between);
  stream_ = true;
  flat_lanes_ = unsigned(lanes);
  emit_loop(first, last, i64(std::int64_t(lanes)), "stream", body, nullptr, chunk_of(std::nullopt, 1));
  stream_ = false;
  flat_lanes_ = 1;
  b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  emit_loop(i64(0), i64(2), i64(1), "part", [&](Value* part) {
    Value* second = b_.CreateICmpNE(part, i64(0));
    plain(b_.CreateSelect(second, last, i64(0)), b_.CreateSelect(second, total, first));
  });
  flat_buffers_.clear();
  return true;
}

}  // namespace rldb::codegen
