// Statements and loops.
#include <fmt/format.h>

#include "codegen/llvm/lowering.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;
using runtime::ErrorKind;

namespace {

constexpr int kMaxDepth = 1'500;

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
    pointers_[st->var] = allocate(st->extents, st->dtype, st->var->name);
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
    pointers_[v] = it->second;
    return;
  }
  VarValue bound;
  bound.value = value(e);
  if (v->dtype().is_integral() && lanes_of(e) == 1) {
    bound.wide = options_.check_bounds ? to_index(bound.value, v->dtype()) : index(e);
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
  const auto* c = as<ir::Call>(e);
  const auto* op = c ? as<ir::Op>(c->callee) : nullptr;
  const std::string_view name = op ? op->name : std::string_view();
  if (name == "tir.ret") {
    if (!c->args.empty()) store_result(c->args[0]);
    b_.CreateRet(b_.getInt32(0));
  } else if (name == "tir.break_loop" || name == "tir.continue_loop") {
    leave_loop(name == "tir.break_loop");
  } else if (name == "tir.tvm_storage_sync") {
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

// Loops that contain a lot of work ask at each iteration whether to stop; outermost ones with little in them every
// 1024 iterations; innermost loops never.
void Lowering::maybe_poll(const ir::ForStmt* loop, Value* iv) {
  const std::int64_t inner = iterations(loop->body);
  if (inner <= 1) return;
  if (inner >= 4096) {
    poll();
    polled_ = true;
    return;
  }
  const std::int64_t extent = ir::const_int(loop->extent).value_or(INT64_MAX);
  if (polled_ || extent <= 1024) return;
  polled_ = true;
  Block* ask = new_block("poll");
  Block* go = new_block("polled");
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(iv, i64(1023)), i64(0)), ask, go);
  b_.SetInsertPoint(ask);
  poll();
  b_.CreateBr(go);
  b_.SetInsertPoint(go);
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
        if (ir::const_int(source->extent).value_or(INT64_MAX) <= 64) flag("llvm.loop.unroll.full");
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

// begin, begin + step, ... below end; tested at the bottom, guarded at the top.
void Lowering::emit_loop(Value* begin, Value* end, Value* step, std::string_view name,
                         const std::function<void(Value*)>& body, const ir::ForStmt* source) {
  Block* head = new_block(name);
  Block* next = new_block("next");
  Block* exit = new_block("exit");
  Value* some = b_.CreateICmpSLT(begin, end);
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(some);
  if (known && known->isOne())
    b_.CreateBr(head);
  else
    b_.CreateCondBr(some, head, exit);
  Block* before = b_.GetInsertBlock();
  b_.SetInsertPoint(head);
  llvm::PHINode* iv = b_.CreatePHI(b_.getInt64Ty(), 2, llvm::StringRef(name));
  iv->addIncoming(begin, before);
  loops_.push_back({source ? source->var : nullptr, next, exit});
  body(iv);
  loops_.pop_back();
  if (!terminated()) b_.CreateBr(next);
  b_.SetInsertPoint(next);
  Value* incremented = b_.CreateAdd(iv, step, "", true, true);
  if (const auto* low = llvm::dyn_cast<llvm::ConstantInt>(begin); !low || low->isNegative())
    incremented = b_.CreateAdd(iv, step, "", false, true);
  iv->addIncoming(incremented, next);
  auto* latch = b_.CreateCondBr(b_.CreateICmpSLT(incremented, end), head, exit);
  attach_loop_metadata(latch, source);
  b_.SetInsertPoint(exit);
}

void Lowering::for_loop(const ir::ForStmt* loop) {
  if (loop->for_kind == ir::ForKind::ThreadBinding)
    refuse(fmt::format("loop `{}` is bound to the GPU thread `{}`", loop->var->name, loop->thread_tag));
  if (options_.schedule && !options_.check_bounds && !schedule_done_.contains(loop)) {
    if (matmul(loop) || tiled_reduction(loop) || flat_loop(loop)) return;
  }
  hoist_init(loop);
  Value* begin = index(loop->min);
  Value* end = b_.CreateAdd(begin, index(loop->extent), "", false, true);
  Value* step = i64(1);
  if (loop->step) {
    step = index(loop->step);
    fault_if(b_.CreateICmpSLE(step, i64(0)), ErrorKind::Unsupported,
             fmt::format("loop `{}` has step {{}}", loop->var->name), {step});
  }
  const bool polled = polled_;
  const auto body = [&](Value* iv) {
    VarValue v;
    v.wide = iv;
    v.value = b_.CreateTrunc(iv, value_type(loop->var->dtype()));
    v.non_negative = non_negative(loop->min);
    vars_[loop->var] = v;
    scope_.push_back(loop->var);
    maybe_poll(loop, iv);
    stmt(loop->body);
    scope_.pop_back();
  };
  emit_loop(begin, end, step, loop->var->name, body, loop);
  polled_ = polled;
}

}  // namespace rldb::codegen
