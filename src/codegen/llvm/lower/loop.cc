// Loops: as LLVM's loops, or unrolled and vectorised as the text specifies; chunks between checks of the interrupt.
#include <fmt/format.h>

#include "codegen/llvm/lower/chunk.h"
#include "codegen/llvm/lower/depth.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/empty_nest.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/schedule/schedule.h"

namespace rldb::codegen {

using ir::as;
using runtime::ErrorKind;

namespace {

// Limits on the nodes that explicit unrolling may make of one loop, and in one kernel. A loop beyond them stays a loop.
constexpr std::uint64_t kMaxUnrolled = 8 * 1024;
constexpr std::uint64_t kMaxUnrolledInAll = 4 * kMaxUnrolled;

// An upper bound of an extent given by a constant: n, or the n of T.min(n, ...).
std::optional<std::int64_t> at_most(const ir::Expr* extent, int depth = 0) {
  if (const auto n = ir::const_int(extent)) return n;
  const auto* b = as<ir::BinaryExpr>(extent);
  if (!b || b->kind != ir::BinaryKind::Min || depth > 16) return std::nullopt;
  const auto x = at_most(b->a, depth + 1), y = at_most(b->b, depth + 1);
  return x && y ? std::min(*x, *y) : x ? x : y;
}

// Iterations of a loop nest as far as constants tell; unknown extents count as 64.
std::int64_t iterations(const ir::Stmt* s, int depth = 0) {
  std::int64_t inner = 1;
  if (depth > 64) return inner;
  if (const auto* loop = as<ir::ForStmt>(s)) {
    if (loop->for_kind == ir::ForKind::Vectorized) return iterations(loop->body, depth + 1);
    const std::int64_t n = at_most(loop->extent).value_or(64);
    std::int64_t total = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(n, 1), iterations(loop->body, depth + 1), &total))
      return INT64_MAX;
    return total;
  }
  if (const auto* seq = as<ir::SeqStmt>(s)) {
    for (const ir::Stmt* part : seq->stmts) {
      const std::int64_t n = iterations(part, depth + 1);
      if (__builtin_add_overflow(inner, n, &inner)) return INT64_MAX;
    }
    return inner;
  }
  if (const auto* r = as<ir::SBlockRealize>(s)) return iterations(r->block->body, depth + 1);
  if (const auto* b = as<ir::SBlock>(s)) return iterations(b->body, depth + 1);
  if (const auto* a = as<ir::AttrStmt>(s)) return iterations(a->body, depth + 1);
  if (const auto* i = as<ir::IfThenElse>(s))
    return std::max(iterations(i->then_case, depth + 1), i->else_case ? iterations(i->else_case, depth + 1) : 1);
  return inner;
}

// The number of iterations between checks of the interrupt, for a loop of that extent around that many; 0: never.
std::int64_t chunk_of(std::optional<std::int64_t> extent, std::int64_t inner) {
  // Milliseconds at most, and the checks take no noticeable time.
  constexpr std::int64_t kIterations = 1 << 16;
  inner = std::max<std::int64_t>(inner, 1);
  if (extent && *extent <= kIterations / inner) return 0;
  return std::max<std::int64_t>(kIterations / inner, 1);
}

bool leaves_loop(const ir::Stmt* s) {
  bool found = false;
  ir::walk(s, [&](const ir::Node* n) {
    const auto* e = as<ir::Call>(n);
    found = found || (e && (ir::is_call_of(e, ir::intrin::BreakLoop) || ir::is_call_of(e, ir::intrin::ContinueLoop)));
    return !found;
  });
  return found;
}

}  // namespace

std::int64_t chunk_of(const ir::ForStmt* loop) { return chunk_of(at_most(loop->extent), iterations(loop->body)); }

// ---- explicit unrolling ----

// Nodes of a statement after the unrolling requested inside it.
std::uint64_t Lowering::unrolled_size(const ir::Stmt* s, int depth) {
  if (!s || depth > kMaxDepth) return 1;
  if (const auto it = unrolled_sizes_.find(s); it != unrolled_sizes_.end()) return it->second;
  std::uint64_t size = 1;
  const std::function<bool(const ir::Node*)> count = [&](const ir::Node* n) {
    const auto* part = as<ir::Stmt>(n);
    if (part && part != s && size < kMaxUnrolled) {
      size += unrolled_size(part, depth + 1);
      return false;
    }
    ++size;
    // Copies share the arithmetic of their indices: it counts once for each access.
    if (const auto* l = as<ir::BufferLoad>(n)) {
      size += l->indices.size();
      return false;
    }
    if (const auto* st = as<ir::BufferStore>(n)) {
      size += st->indices.size();
      ir::walk(st->value, count);
      return false;
    }
    return size < kMaxUnrolled;
  };
  ir::walk(s, count);
  if (const auto* loop = as<ir::ForStmt>(s); loop && loop->for_kind == ir::ForKind::Unrolled) {
    const auto extent = ir::const_int(loop->extent);
    if (extent && *extent > 0 && *extent <= 64 &&
        std::uint64_t(*extent) * size <= std::min(kMaxUnrolled, unroll_left_)) {
      unrolled_.insert(loop);
      unroll_left_ -= std::uint64_t(*extent - 1) * size;
      size *= std::uint64_t(*extent);
    }
  }
  return unrolled_sizes_[s] = size;
}

bool Lowering::may_unroll(const ir::ForStmt* loop) {
  if (unrolled_sizes_.empty()) unroll_left_ = kMaxUnrolledInAll;
  unrolled_size(loop);
  return unrolled_.contains(loop);
}

void Lowering::attach_loop_metadata(llvm::BranchInst* latch, const ir::ForStmt* source) {
  std::vector<llvm::Metadata*> items{nullptr};
  const auto flag = [&](const char* name) { items.push_back(llvm::MDNode::get(c_, llvm::MDString::get(c_, name))); };
  const auto set = [&](const char* name, llvm::Constant* v) {
    items.push_back(llvm::MDNode::get(c_, {llvm::MDString::get(c_, name), llvm::ConstantAsMetadata::get(v)}));
  };
  switch (source->for_kind) {
    case ir::ForKind::Vectorized:
      set("llvm.loop.vectorize.enable", b_.getTrue());
      break;
    case ir::ForKind::Unrolled:
      flag(may_unroll(source) ? "llvm.loop.unroll.full" : "llvm.loop.unroll.disable");
      break;
    case ir::ForKind::Serial:
    case ir::ForKind::Parallel:
    case ir::ForKind::ThreadBinding:
      // LLVM does not unroll or vectorise again around code that is unrolled or vectorised as the text specifies.
      if (!as_written_) break;
      set("llvm.loop.isvectorized", b_.getInt32(1));
      flag("llvm.loop.unroll.disable");
      break;
  }
  if (items.size() == 1) return;
  llvm::MDNode* id = llvm::MDNode::getDistinct(c_, items);
  id->replaceOperandWith(0, id);
  latch->setMetadata(llvm::LLVMContext::MD_loop, id);
}

// begin, begin + step, ... below end; tested at the bottom, guarded at the top. With a chunk the loop is two: the inner
// one, which LLVM may vectorise, does a chunk, the outer one checks the interrupt.
void Lowering::emit_loop(Value* begin, Value* end, Value* step, const ir::ForStmt* source,
                         const std::function<void(Value*)>& body, std::int64_t chunk) {
  const std::string_view name = source->var->name;
  const bool outer_as_written = std::exchange(as_written_, false);
  Block* head = new_block(name);
  Block* next = new_block("next");
  Block* exit = new_block("exit");
  Block* outer = chunk > 1 ? new_block("chunk") : nullptr;
  Block* first = outer ? outer : head;
  Value* some = b_.CreateICmpSLT(begin, end);
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(some);
  if (known && known->isOne())
    b_.CreateBr(first);
  else
    b_.CreateCondBr(some, first, exit);
  Block* before = b_.GetInsertBlock();
  Value* start = begin;
  Value* stop = end;
  llvm::PHINode* from = nullptr;
  if (outer) {
    b_.SetInsertPoint(outer);
    from = b_.CreatePHI(b_.getInt64Ty(), 2, "from");
    from->addIncoming(begin, before);
    start = from;
    poll();
    Value* steps = b_.CreateMul(step, i64(chunk), "", true, true);
    stop = b_.CreateAdd(from, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(end, from), steps), "",
                        false, true);
    b_.CreateBr(head);
    before = b_.GetInsertBlock();
  }
  b_.SetInsertPoint(head);
  llvm::PHINode* iv = b_.CreatePHI(b_.getInt64Ty(), 2, llvm::StringRef(name));
  iv->addIncoming(start, before);
  loops_.push_back({source->var, next, exit});
  if (chunk == 1) poll();
  body(iv);
  loops_.pop_back();
  if (!terminated()) b_.CreateBr(next);
  b_.SetInsertPoint(next);
  const auto* low = llvm::dyn_cast<llvm::ConstantInt>(begin);
  Value* incremented = b_.CreateAdd(iv, step, "", low && !low->isNegative(), true);
  iv->addIncoming(incremented, next);
  Block* last = outer ? new_block("more") : exit;
  auto* latch = b_.CreateCondBr(b_.CreateICmpSLT(incremented, stop), head, last);
  attach_loop_metadata(latch, source);
  if (outer) {
    b_.SetInsertPoint(last);
    from->addIncoming(incremented, last);
    b_.CreateCondBr(b_.CreateICmpSLT(incremented, end), outer, exit);
  }
  b_.SetInsertPoint(exit);
  as_written_ = as_written_ || outer_as_written;
}

// A nest with a loop of no iterations in it is left out, whatever the extents around that loop.
void Lowering::for_loop(const ir::ForStmt* loop) {
  const bool nested = std::exchange(in_nest_, loop->body) == loop;
  const std::vector<const ir::Expr*> within =
      nested || widened_ ? std::vector<const ir::Expr*>() : ir::extents_within(loop);
  Block* after = within.empty() ? nullptr : new_block("nest_end");
  for (const ir::Expr* extent : within) {
    Block* some = new_block("nest");
    b_.CreateCondBr(b_.CreateICmpSGT(index(extent), i64(0)), some, after);
    b_.SetInsertPoint(some);
  }
  one_loop(loop);
  if (!after) return;
  if (!terminated()) b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void Lowering::one_loop(const ir::ForStmt* loop) {
  if (vector_loop(loop) || unrolled_loop(loop)) return;
  if (schedule::has_flag(loop->annotations, attr_name::Nontemporal)) return nontemporal_loop(loop);
  if (!parallel_loop(loop)) plain_loop(loop);
}

void Lowering::bind_loop(const ir::ForStmt* loop, Value* iv) {
  VarValue v;
  v.wide = iv;
  v.value = b_.CreateTrunc(iv, value_type(loop->var->dtype()));
  v.non_negative = non_negative(loop->min);
  vars_[loop->var] = v;
}

void Lowering::run_body(const ir::ForStmt* loop, Value* iv) {
  bind_loop(loop, iv);
  scope_.push_back(loop->var);
  stmt(loop->body);
  scope_.pop_back();
}

void Lowering::plain_loop(const ir::ForStmt* loop) {
  Value* begin = index(loop->min);
  Value* end = b_.CreateAdd(begin, index(loop->extent), "", false, true);
  Value* step = i64(1);
  if (loop->step) {
    step = index(loop->step);
    fault_if(b_.CreateICmpSLE(step, i64(0)), ErrorKind::Unsupported,
             fmt::format("loop `{}` has step {{}}", loop->var->name), {step});
  }
  std::int64_t chunk = chunk_of(loop);
  if (chunk > 1 && !llvm::isa<llvm::ConstantInt>(step)) chunk = 1;
  emit_loop(
      begin, end, step, loop, [&](Value* iv) { run_body(loop, iv); }, chunk);
}

bool Lowering::unrolled_loop(const ir::ForStmt* loop) {
  if (loop->for_kind != ir::ForKind::Unrolled || loop->step || !may_unroll(loop) || leaves_loop(loop->body))
    return false;
  if (transposed_copy(loop)) return true;
  Value* begin = index(loop->min);
  const std::int64_t extent = ir::const_int(loop->extent).value_or(0);
  for (std::int64_t i = 0; i < extent; ++i) run_body(loop, b_.CreateAdd(begin, i64(i), "", false, true));
  as_written_ = true;
  return true;
}

// Stores past the caches are for memory that starts at a vector's boundary, which is determined before the loop.
void Lowering::nontemporal_loop(const ir::ForStmt* loop) {
  Value* aligned = b_.getTrue();
  bool known = true;
  ir::walk(loop->body, [&](const ir::Node* n) {
    const auto* s = as<ir::BufferStore>(n);
    if (!s || !known) return known;
    const auto it = views_.find(s->buffer);
    known = it != views_.end();
    if (!known) return false;
    Value* low = b_.CreateAnd(b_.CreatePtrToInt(it->second.base, b_.getInt64Ty()), i64(options_.vector_bytes - 1));
    aligned = b_.CreateAnd(aligned, b_.CreateICmpEQ(low, i64(0)));
    return true;
  });
  const auto either = [&] {
    if (!parallel_loop(loop)) plain_loop(loop);
  };
  if (!known || stream_) return either();
  Block* past = new_block("stream");
  Block* through = new_block("cached");
  Block* end = new_block("streamed");
  b_.CreateCondBr(aligned, past, through);
  b_.SetInsertPoint(past);
  {
    const auto stream = restore_later(stream_, true);
    either();
  }
  if (!terminated()) {
    b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
    b_.CreateBr(end);
  }
  b_.SetInsertPoint(through);
  either();
  if (!terminated()) b_.CreateBr(end);
  b_.SetInsertPoint(end);
}

}  // namespace rldb::codegen
