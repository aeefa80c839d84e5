// Statements.
#include <fmt/format.h>

#include "codegen/llvm/lower/depth.h"
#include "codegen/llvm/lower/lines.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/profile_mark.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/support/check.h"

namespace rldb::codegen {

using ir::as;
using runtime::ErrorKind;

void Lowering::start_dead_block() { b_.SetInsertPoint(new_block("dead")); }

void Lowering::stmt(const ir::Stmt* s) {
  const AtLine line(*this, s);
  one_stmt(s);
}

void Lowering::one_stmt(const ir::Stmt* s) {
  DepthGuard guard(depth_, "it is nested too deeply");
  if (terminated()) start_dead_block();
  switch (s->stmt_kind()) {
    case ir::StmtKind::Seq:
      for (const ir::Stmt* part : as<ir::SeqStmt>(s)->stmts) stmt(part);
      return;
    case ir::StmtKind::BufferStore:
      return store(as<ir::BufferStore>(s));
    case ir::StmtKind::For:
      return for_loop(as<ir::ForStmt>(s));
    case ir::StmtKind::SBlockRealize:
      return block(as<ir::SBlockRealize>(s)->block, as<ir::SBlockRealize>(s));
    case ir::StmtKind::SBlock:
      return block(as<ir::SBlock>(s), nullptr);
    case ir::StmtKind::Bind:
      return bind(as<ir::BindStmt>(s)->var, as<ir::BindStmt>(s)->value);
    case ir::StmtKind::IfThenElse:
      return if_stmt(as<ir::IfThenElse>(s));
    case ir::StmtKind::While:
      return while_loop(as<ir::WhileStmt>(s));
    case ir::StmtKind::Evaluate:
      return evaluate(as<ir::Evaluate>(s)->value);
    case ir::StmtKind::Assert:
      return assert_stmt(as<ir::AssertStmt>(s));
    case ir::StmtKind::AllocBuffer:
      return allocate_buffer(as<ir::AllocBuffer>(s)->buffer);
    case ir::StmtKind::DeclBuffer:
      return decl_buffer(as<ir::DeclBuffer>(s));
    case ir::StmtKind::Allocate: {
      const auto* st = as<ir::AllocateStmt>(s);
      std::vector<Value*> extents;
      for (const ir::Expr* e : st->extents) extents.push_back(index(e));
      if (allocate_on_device(st->var, st->dtype, extents, st->var->name, st->scope)) return;
      const bool on_stack = options_.check_bounds || !facts_.unproved_data.contains(st->var);
      pointers_[st->var] = allocate(std::move(extents), st->dtype, st->var->name, on_stack, true);
      return;
    }
    case ir::StmtKind::AllocateConst:
      return allocate_const(as<ir::AllocateConstStmt>(s));
    case ir::StmtKind::Attr:
      return attr_stmt(as<ir::AttrStmt>(s));
  }
  RLDB_UNREACHABLE("every kind of statement has its case");
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
    bound.counts = counts(e);
    bound.non_negative = non_negative(e);
    if (widened_ && bound.wide->getType()->isVectorTy()) {
      const auto first_lane = restore_later(lane0_, true);
      bound.base = wide ? wide_index(e) : index(e);
      bound.lane_step = lane_step(e);
    }
  }
  vars_[v] = bound;
}

void Lowering::assert_stmt(const ir::AssertStmt* s) {
  std::string text;
  for (const std::string_view part : s->message_parts) text += part;
  if (text.empty()) text = ir::print_expr(s->cond);
  // The text has no placeholders but ours.
  std::string safe = fmt::format("{}: {}", s->error_kind, text);
  for (std::size_t at = 0; (at = safe.find("{}", at)) != std::string::npos; at += 3) safe.insert(at + 1, " ");
  fault_if(b_.CreateNot(condition(s->cond)), ErrorKind::AssertFailed, safe, {});
}

void Lowering::attr_stmt(const ir::AttrStmt* s) {
  if (options_.device && !ir::thread_tag(s).empty()) return bind_thread(s);
  if (s->thread_var) {
    const auto extent = ir::const_int(s->value);
    if (!extent || *extent != 1)
      refuse(fmt::format("it runs on threads without a name (`{}` of `{}`)", s->key, s->thread_var->name));
    vars_[s->thread_var] = {llvm::ConstantInt::get(value_type(s->thread_var->dtype()), 0), i64(0), nullptr, true};
  }
  stmt(s->body);
}

void Lowering::evaluate(const ir::Expr* e) {
  const bool for_good = ir::is_call_of(e, ir::intrin::BreakLoop);
  if (ir::is_call_of(e, ir::intrin::Ret)) {
    if (const auto* c = as<ir::Call>(e); !c->args.empty()) store_result(c->args[0]);
    return_well();
  } else if (for_good || ir::is_call_of(e, ir::intrin::ContinueLoop)) {
    leave_loop(for_good);
  } else if (ir::is_call_of(e, ir::intrin::TvmStorageSync)) {
    if (options_.device) synchronise(as<ir::Call>(e));  // else one thread: no waiting
  } else if (options_.device && ir::is_call_of(e, ir::intrin::ThreadReturn)) {
    return_well();
  } else if (ir::is_call_of(e, ir::intrin::TvmCallPacked) || ir::is_call_of(e, ir::intrin::TvmCallCpacked)) {
    call_packed(as<ir::Call>(e), false);
  } else if (!ir::is_profile_mark(e)) {
    value(e);
  }
}

void Lowering::leave_loop(bool for_good) {
  if (loops_.empty()) refuse("break or continue outside of a loop");
  b_.CreateBr(for_good ? loops_.back().exit : loops_.back().next);
}

void Lowering::if_stmt(const ir::IfThenElse* s) {
  Value* c = condition(s->cond);
  if (c->getType()->isVectorTy()) return masked_if(s, c);
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

// In a vectorised loop: each side is executed in the lanes that take it.
void Lowering::masked_if(const ir::IfThenElse* s, Value* c) {
  const auto side = [&](const ir::Stmt* body, Value* lanes) {
    const auto on = restore_later(mask_, mask_ ? b_.CreateAnd(mask_, lanes) : lanes);
    stmt(body);
  };
  side(s->then_case, c);
  if (s->else_case) side(s->else_case, b_.CreateNot(c));
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
  if (options_.device) {
    auto* word = b_.CreateAlignedLoad(b_.getInt32Ty(), stop_, llvm::Align(4), true, "stop");
    return fault_if(b_.CreateICmpNE(word, b_.getInt32(0)), ErrorKind::Interrupted, "interrupted", {});
  }
  llvm::Constant* flag = module_->getOrInsertGlobal("rldb_interrupt", b_.getInt8Ty());
  auto* seen = b_.CreateLoad(b_.getInt8Ty(), flag, "interrupted");
  seen->setAtomic(llvm::AtomicOrdering::Monotonic);
  seen->setAlignment(llvm::Align(1));
  fault_if(b_.CreateICmpNE(seen, b_.getInt8(0)), ErrorKind::Interrupted, "interrupted", {});
}

}  // namespace rldb::codegen
