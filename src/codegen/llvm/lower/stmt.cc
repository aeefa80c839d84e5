// Statements and loops.
#include <fmt/format.h>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;
using runtime::ErrorKind;

namespace {

constexpr int kMaxDepth = 1'500;
// Nodes that explicit unrolling may make of one loop, and in one kernel. A loop that would make more stays a loop.
constexpr std::uint64_t kMaxUnrolled = 8 * 1024;
constexpr std::uint64_t kMaxUnrolledInAll = 4 * kMaxUnrolled;

struct DepthGuard {
  explicit DepthGuard(int& d) : depth(d) {
    if (++depth > kMaxDepth) refuse("it is nested too deeply");
  }
  ~DepthGuard() { --depth; }
  int& depth;
};

// Iterations of a loop nest as far as constants tell; unknown extents count as 64.
std::int64_t iterations(const ir::Stmt* s, int depth = 0) {
  std::int64_t inner = 1;
  if (depth > 64) return inner;
  if (const auto* loop = as<ir::ForStmt>(s)) {
    const std::int64_t n = ir::const_int(loop->extent).value_or(64);
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

}  // namespace

void Lowering::start_dead_block() { b_.SetInsertPoint(new_block("dead")); }

void Lowering::stmt(const ir::Stmt* s) {
  DepthGuard guard(depth_);
  if (terminated()) start_dead_block();
  if (const auto* st = as<ir::SeqStmt>(s)) {
    for (const ir::Stmt* part : st->stmts) stmt(part);
  } else if (const auto* st = as<ir::BufferStore>(s)) {
    store(st);
  } else if (const auto* st = as<ir::ForStmt>(s)) {
    for_loop(st);
  } else if (const auto* st = as<ir::SBlockRealize>(s)) {
    block(st->block, st);
  } else if (const auto* st = as<ir::SBlock>(s)) {
    block(st, nullptr);
  } else if (const auto* st = as<ir::BindStmt>(s)) {
    bind(st->var, st->value);
  } else if (const auto* st = as<ir::IfThenElse>(s)) {
    if_stmt(st);
  } else if (const auto* st = as<ir::WhileStmt>(s)) {
    while_loop(st);
  } else if (const auto* st = as<ir::Evaluate>(s)) {
    evaluate(st->value);
  } else if (const auto* st = as<ir::AssertStmt>(s)) {
    assert_stmt(st);
  } else if (const auto* st = as<ir::AllocBuffer>(s)) {
    allocate_buffer(st->buffer);
  } else if (const auto* st = as<ir::DeclBuffer>(s)) {
    decl_buffer(st);
  } else if (const auto* st = as<ir::AllocateStmt>(s)) {
    std::vector<Value*> extents;
    for (const ir::Expr* e : st->extents) extents.push_back(index(e));
    const bool on_stack = options_.check_bounds || !facts_.unproved_data.contains(st->var);
    pointers_[st->var] = allocate(std::move(extents), st->dtype, st->var->name, on_stack);
  } else if (const auto* st = as<ir::AllocateConstStmt>(s)) {
    allocate_const(st);
  } else if (const auto* st = as<ir::AttrStmt>(s)) {
    attr_stmt(st);
  } else {
    refuse(fmt::format("there is no code for the statement `{}`", ir::print_stmt(s)));
  }
}

void Lowering::bind(const ir::Var* v, const ir::Expr* e) {
  if (as<ir::PointerType>(v->type)) {
    const auto* from = as<ir::Var>(e);
    const auto it = from ? pointers_.find(from) : pointers_.end();
    if (it == pointers_.end()) refuse("it cannot follow the pointer " + where(e));
    pointers_[v] = Memory(it->second);
    return;
  }
  VarValue bound;
  bound.value = value(e);
  if (v->dtype().is_integral() && lanes_of(e) == 1) {
    const bool wide = !checked() || facts_.same_in_64_bits(e);
    bound.wide = wide ? wide_index(e) : to_index(bound.value, v->dtype());
    const auto exact = restore_later(wide_, wide);
    bound.non_negative = non_negative(e);
    if (widened_ && bound.wide->getType()->isVectorTy()) {
      bound.base = base_index(e);
      bound.lane_step = coefficient(e, widened_);
    }
  }
  vars_[v] = bound;
}

void Lowering::assert_stmt(const ir::AssertStmt* s) {
  std::string text;
  for (const std::string_view part : s->message_parts) text += part;
  if (text.empty()) text = ir::print_expr(s->cond);
  // The text has places of ours only.
  std::string safe = fmt::format("{}: {}", s->error_kind, text);
  for (std::size_t at = 0; (at = safe.find("{}", at)) != std::string::npos; at += 3) safe.insert(at + 1, " ");
  fault_if(b_.CreateNot(condition(s->cond)), ErrorKind::AssertFailed, safe, {});
}

void Lowering::attr_stmt(const ir::AttrStmt* s) {
  if (s->thread_var) {
    const auto extent = ir::const_int(s->value);
    if (!extent || *extent != 1)
      refuse(fmt::format("it runs on GPU threads (`{}` of `{}`)", s->key, s->thread_var->name));
    vars_[s->thread_var] = {llvm::ConstantInt::get(value_type(s->thread_var->dtype()), 0), i64(0), nullptr, true};
  }
  stmt(s->body);
}

void Lowering::evaluate(const ir::Expr* e) {
  const bool for_good = ir::is_call_of(e, ir::Intrinsic::BreakLoop);
  if (ir::is_call_of(e, ir::Intrinsic::Ret)) {
    if (const auto* c = as<ir::Call>(e); !c->args.empty()) store_result(c->args[0]);
    b_.CreateRet(b_.getInt32(0));
  } else if (for_good || ir::is_call_of(e, ir::Intrinsic::ContinueLoop)) {
    leave_loop(for_good);
  } else if (ir::is_call_of(e, ir::Intrinsic::TvmStorageSync)) {
    // One thread: nothing to wait for.
  } else {
    value(e);
  }
}

void Lowering::leave_loop(bool for_good) {
  if (loops_.empty()) refuse("break or continue stands outside a loop");
  b_.CreateBr(for_good ? loops_.back().exit : loops_.back().next);
}

void Lowering::if_stmt(const ir::IfThenElse* s) {
  Value* c = condition(s->cond);
  Block* yes = new_block("then");
  Block* no = s->else_case ? new_block("else") : nullptr;
  Block* end = new_block("endif");
  b_.CreateCondBr(c, yes, no ? no : end);
  b_.SetInsertPoint(yes);
  stmt(s->then_case);
  if (!terminated()) b_.CreateBr(end);
  if (no) {
    b_.SetInsertPoint(no);
    stmt(s->else_case);
    if (!terminated()) b_.CreateBr(end);
  }
  b_.SetInsertPoint(end);
}

void Lowering::while_loop(const ir::WhileStmt* s) {
  Block* head = new_block("while");
  Block* body = new_block("do");
  Block* exit = new_block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  poll();
  b_.CreateCondBr(condition(s->cond), body, exit);
  b_.SetInsertPoint(body);
  loops_.push_back({nullptr, head, exit});
  stmt(s->body);
  loops_.pop_back();
  if (!terminated()) b_.CreateBr(head);
  b_.SetInsertPoint(exit);
}

void Lowering::poll() {
  llvm::Constant* flag = module_->getOrInsertGlobal("rldb_interrupt", b_.getInt8Ty());
  auto* seen = b_.CreateLoad(b_.getInt8Ty(), flag, "interrupted");
  seen->setAtomic(llvm::AtomicOrdering::Monotonic);
  seen->setAlignment(llvm::Align(1));
  fault_if(b_.CreateICmpNE(seen, b_.getInt8(0)), ErrorKind::Interrupted, "interrupted", {});
}

std::int64_t Lowering::chunk_of(std::optional<std::int64_t> extent, std::int64_t inner) {
  // Milliseconds at most, and nothing of it is seen in the time.
  constexpr std::int64_t kIterations = 1 << 16;
  inner = std::max<std::int64_t>(inner, 1);
  if (extent && *extent <= kIterations / inner) return 0;
  return std::max<std::int64_t>(kIterations / inner, 1);
}

// ---- explicit unrolling ----

// Nodes of a statement after the unrolling that is asked for inside it.
std::uint64_t Lowering::unrolled_size(const ir::Stmt* s, int depth) {
  if (!s || depth > kMaxDepth) return 1;
  if (const auto it = unrolled_sizes_.find(s); it != unrolled_sizes_.end()) return it->second;
  std::uint64_t size = 1;
  ir::walk(s, [&](const ir::Node* n) {
    const auto* part = as<ir::Stmt>(n);
    if (part && part != s && size < kMaxUnrolled) {
      size += unrolled_size(part, depth + 1);
      return false;
    }
    ++size;
    return size < kMaxUnrolled;
  });
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
  if (!source && !finished_loops_) return;
  std::vector<llvm::Metadata*> items{nullptr};
  const auto flag = [&](const char* name) { items.push_back(llvm::MDNode::get(c_, llvm::MDString::get(c_, name))); };
  const auto set = [&](const char* name, llvm::Constant* v) {
    items.push_back(llvm::MDNode::get(c_, {llvm::MDString::get(c_, name), llvm::ConstantAsMetadata::get(v)}));
  };
  if (finished_loops_) {
    set("llvm.loop.isvectorized", b_.getInt32(1));
    flag("llvm.loop.unroll.disable");
  }
  if (source) switch (source->for_kind) {
      case ir::ForKind::Vectorized:
        set("llvm.loop.vectorize.enable", b_.getTrue());
        break;
      case ir::ForKind::Unrolled:
        flag(may_unroll(source) ? "llvm.loop.unroll.full" : "llvm.loop.unroll.disable");
        break;
      case ir::ForKind::Serial:
      case ir::ForKind::Parallel:
      case ir::ForKind::ThreadBinding:
        break;
    }
  if (items.size() == 1) return;
  llvm::MDNode* id = llvm::MDNode::getDistinct(c_, items);
  id->replaceOperandWith(0, id);
  latch->setMetadata(llvm::LLVMContext::MD_loop, id);
}

// begin, begin + step, ... below end; tested at the bottom, guarded at the top. With a chunk the loop is two: the inner
// one, which LLVM may vectorise, does a chunk, the outer one looks at the interrupt.
void Lowering::emit_loop(Value* begin, Value* end, Value* step, std::string_view name,
                         const std::function<void(Value*)>& body, const ir::ForStmt* source, std::int64_t chunk) {
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
  loops_.push_back({source ? source->var : nullptr, next, exit});
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
}

// A schedule moves and repeats accesses, so in checked code it is for nests whose accesses are all proved.
bool Lowering::scheduled(const ir::ForStmt* loop) {
  if (options_.check_bounds && !facts_.all_proved(loop)) return false;
  const auto trusted = restore_later(trusted_, true);
  return matmul(loop) || tiled_reduction(loop) || flat_loop(loop);
}

void Lowering::for_loop(const ir::ForStmt* loop) {
  if (loop->for_kind == ir::ForKind::ThreadBinding)
    refuse(fmt::format("loop `{}` is bound to the GPU thread `{}`", loop->var->name, loop->thread_tag));
  if (options_.schedule && !schedule_done_.contains(loop) && scheduled(loop)) return;
  hoist_init(loop);
  Value* begin = index(loop->min);
  Value* end = b_.CreateAdd(begin, index(loop->extent), "", false, true);
  Value* step = i64(1);
  if (loop->step) {
    step = index(loop->step);
    fault_if(b_.CreateICmpSLE(step, i64(0)), ErrorKind::Unsupported,
             fmt::format("loop `{}` has step {{}}", loop->var->name), {step});
  }
  const std::int64_t inner = iterations(loop->body);
  std::int64_t chunk = chunk_of(ir::const_int(loop->extent), inner);
  if (chunk > 1 && !llvm::isa<llvm::ConstantInt>(step)) chunk = 1;
  const auto body = [&](Value* iv) {
    VarValue v;
    v.wide = iv;
    v.value = b_.CreateTrunc(iv, value_type(loop->var->dtype()));
    v.non_negative = non_negative(loop->min);
    vars_[loop->var] = v;
    scope_.push_back(loop->var);
    stmt(loop->body);
    scope_.pop_back();
  };
  emit_loop(begin, end, step, loop->var->name, body, loop, chunk);
}

}  // namespace rldb::codegen
