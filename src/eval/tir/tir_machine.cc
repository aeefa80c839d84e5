// TirMachine: `step` advances the innermost activity.
#include <fmt/format.h>

#include "eval/tir/parts.h"
#include "eval/tir/tir_machine_impl.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/ir/empty_nest.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/profile_mark.h"

namespace rldb::eval {

using ir::as;
using runtime::Error;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;
using support::Unit;

void TirMachine::Impl::push(const ir::Stmt* s) {
  if (s) stack.push_back({s});
}

Result<Unit> TirMachine::Impl::step() {
  if (stack.empty()) return Unit{};
  ++steps;
  auto advanced = advance();
  if (!advanced.ok()) return support::Failure(annotate(std::move(advanced).error()));
  settle();
  return take_turns();
}

void TirMachine::Impl::settle() {
  while (!stack.empty() && !(grid && stack.size() <= grid->depth())) {
    Activity& top = stack.back();
    if (const auto* seq = as<ir::SeqStmt>(top.stmt)) {
      if (std::size_t(top.at) < seq->stmts.size())
        push(seq->stmts[std::size_t(top.at++)]);
      else
        stack.pop_back();
    } else if ((as<ir::ForStmt>(top.stmt) || as<ir::AttrStmt>(top.stmt)) && top.started && top.at >= top.end) {
      stack.pop_back();
    } else if ((as<ir::SBlockRealize>(top.stmt) || as<ir::SBlock>(top.stmt)) && top.started && top.at == 2) {
      stack.pop_back();
    } else {
      return;
    }
  }
}

// A statement with exchanges is executed once the other threads have supplied its operands.
Result<Unit> TirMachine::Impl::advance() {
  if (!grid) return advance_statement();
  if (meet_before(stack.back())) return Unit{};
  RLDB_TRY(const bool waits, exchange_first(stack.back().stmt));
  if (waits) return Unit{};
  auto done = advance_statement();
  env.exchanged.clear();
  return done;
}

Result<Unit> TirMachine::Impl::advance_statement() {
  Activity& top = stack.back();
  const ir::Stmt* s = top.stmt;
  switch (s->stmt_kind()) {
    case ir::StmtKind::BufferStore:
      return pop_after(store_element(as<ir::BufferStore>(s)));
    case ir::StmtKind::For:
      return advance_loop(as<ir::ForStmt>(s), top);
    case ir::StmtKind::SBlockRealize:
      return advance_block(as<ir::SBlockRealize>(s)->block, as<ir::SBlockRealize>(s), top);
    case ir::StmtKind::SBlock:
      return advance_block(as<ir::SBlock>(s), nullptr, top);
    case ir::StmtKind::Bind:
      return pop_after(bind(as<ir::BindStmt>(s)->var, as<ir::BindStmt>(s)->value));
    case ir::StmtKind::IfThenElse:
      return choose(as<ir::IfThenElse>(s));
    case ir::StmtKind::While:
      return repeat(as<ir::WhileStmt>(s));
    case ir::StmtKind::Evaluate:
      return evaluate(as<ir::Evaluate>(s)->value);
    case ir::StmtKind::Assert:
      return pop_after(check(as<ir::AssertStmt>(s)));
    case ir::StmtKind::AllocBuffer:
      return pop_after(allocate_buffer(as<ir::AllocBuffer>(s)->buffer));
    case ir::StmtKind::DeclBuffer:
      return pop_after(declare(as<ir::DeclBuffer>(s)));
    case ir::StmtKind::Allocate:
      return pop_after(allocate_pointer(as<ir::AllocateStmt>(s)));
    case ir::StmtKind::AllocateConst: {
      const auto* st = as<ir::AllocateConstStmt>(s);
      env.pointers[st->var] = Pointer::to(st->value->as_tensor());
      return pop_after(Unit{});
    }
    case ir::StmtKind::Attr:
      return enter_attr(as<ir::AttrStmt>(s), top);
    case ir::StmtKind::Seq:
      break;  // `settle` takes it apart
  }
  return fail(ErrorKind::Unsupported,
              fmt::format("the evaluator has no meaning for the statement `{}`", ir::print_stmt(s)));
}

Result<Unit> TirMachine::Impl::choose(const ir::IfThenElse* st) {
  RLDB_TRY(const Scalar c, expr().eval(st->cond));
  stack.pop_back();
  push(c.i ? st->then_case : st->else_case);
  return Unit{};
}

Result<Unit> TirMachine::Impl::repeat(const ir::WhileStmt* st) {
  RLDB_TRY(const Scalar c, expr().eval(st->cond));
  if (c.i)
    push(st->body);
  else
    stack.pop_back();
  return Unit{};
}

Result<Unit> TirMachine::Impl::pop_after(Result<Unit> done) {
  if (done.ok()) stack.pop_back();
  return done;
}

Result<Unit> TirMachine::Impl::bind(const ir::Var* var, const ir::Expr* value) {
  if (as<ir::PointerType>(var->type)) {
    RLDB_TRY(const bool bound, bind_call(var, value));
    if (bound) return Unit{};
    if (const auto* v = as<ir::Var>(value)) {
      if (const auto it = env.pointers.find(v); it != env.pointers.end()) {
        const Pointer p = it->second;
        env.pointers[var] = p;
        return Unit{};
      }
    }
    return fail(ErrorKind::Unsupported,
                fmt::format("the evaluator cannot follow the pointer `{}`", ir::print_expr(value)));
  }
  const int lanes = lanes_of(value);
  if (lanes > 1) {
    std::vector<Scalar> values;
    for (int lane = 0; lane < lanes; ++lane) {
      RLDB_TRY(const Scalar v, expr().eval(value, lane));
      values.push_back(v);
    }
    env.vectors[var] = std::move(values);
    return Unit{};
  }
  RLDB_TRY(const Scalar v, expr().eval(value));
  env.vars.set(var->id, v);
  return Unit{};
}

Result<Unit> TirMachine::Impl::store_element(const ir::BufferStore* st) {
  const int lanes = lanes_of(st->value);
  // All lanes are read before any is written: a vector statement executes as a whole.
  std::vector<Scalar> values;
  for (int lane = 0; lane < lanes; ++lane) {
    RLDB_TRY(const Scalar v, expr().eval(st->value, lane));
    if (lanes == 1) return store_lane(st, 0, v);
    values.push_back(v);
  }
  for (int lane = 0; lane < lanes; ++lane)
    if (auto done = store_lane(st, lane, values[std::size_t(lane)]); !done.ok()) return done;
  return Unit{};
}

Result<Unit> TirMachine::Impl::store_lane(const ir::BufferStore* st, int lane, Scalar v) {
  if (st->predicate) {
    RLDB_TRY(const Scalar on, expr().eval(st->predicate, lane));
    if (!on.i) return Unit{};
  }
  RLDB_TRY(std::byte * at, expr().address(st->buffer, st->indices, lane));
  store(at, st->buffer->dtype.element(), v);
  if (watcher) watcher->stored(at, st->buffer->dtype.element().bytes());
  return Unit{};
}

// Asked once per nest, at its outermost loop.
Result<bool> TirMachine::Impl::nest_is_empty(const ir::ForStmt* loop) {
  if (!as<ir::ForStmt>(loop->body) || (stack.size() > 1 && as<ir::ForStmt>(stack[stack.size() - 2].stmt))) return false;
  for (const ir::Expr* extent : ir::extents_within(loop)) {
    RLDB_TRY(const std::int64_t n, expr().integer(extent));
    if (n <= 0) return true;
  }
  return false;
}

Result<Unit> TirMachine::Impl::advance_loop(const ir::ForStmt* loop, Activity& top) {
  if (loop->for_kind == ir::ForKind::ThreadBinding) return enter_threads(loop, top);
  if (!top.started) {
    RLDB_TRY(const std::int64_t min, expr().integer(loop->min));
    RLDB_TRY(const std::int64_t extent, expr().integer(loop->extent));
    if (loop->step) {
      RLDB_TRY(top.step, expr().integer(loop->step));
      if (top.step <= 0)
        return fail(ErrorKind::Unsupported, fmt::format("loop `{}` has step {}", loop->var->name, top.step));
    }
    RLDB_TRY(const bool empty, nest_is_empty(loop));
    top.started = true;
    top.at = min;
    top.end = empty ? min : min + extent;  // of the domain; `step` strides over it
  }
  if (top.at >= top.end) return Unit{};
  env.vars.set(loop->var->id, of_int(wrap(top.at, loop->var->dtype())));
  top.at += top.step;
  push(loop->body);
  return Unit{};
}

Result<Unit> TirMachine::Impl::advance_block(const ir::SBlock* block, const ir::SBlockRealize* realize, Activity& top) {
  if (top.at == 1) {
    top.at = 2;
    push(block->body);
    return Unit{};
  }
  bool first = true;  // every reduction axis is at its start
  if (realize) {
    RLDB_TRY(const Scalar on, expr().eval(realize->predicate));
    if (!on.i) {
      stack.pop_back();
      return Unit{};
    }
    for (std::size_t i = 0; i < block->iter_vars.size(); ++i) {
      const ir::IterVar& axis = block->iter_vars[i];
      RLDB_TRY(const Scalar v, expr().eval(realize->iter_values[i]));
      env.vars.set(axis.var->id, v);
      if (axis.kind != ir::IterKind::Reduce) continue;
      RLDB_TRY(const std::int64_t min, expr().integer(axis.dom.min));
      first = first && v.i == min;
    }
  }
  RLDB_TRY_VOID(open_block_buffers(block));
  top.started = true;
  top.at = block->init && first ? 1 : 2;
  push(top.at == 1 ? block->init : block->body);
  return Unit{};
}

Result<Unit> TirMachine::Impl::open_block_buffers(const ir::SBlock* block) {
  for (const ir::Buffer* b : block->alloc_buffers) {
    // An allocation is kept when its block is entered again: enclosing loops share it.
    if (env.buffers.contains(b)) continue;
    if (auto done = allocate_buffer(b); !done.ok()) return done;
  }
  for (const ir::MatchBufferRegion& m : block->match_buffers) {
    // Dimensions are bound anew each time.
    if (auto done = match_region(m); !done.ok()) return done;
  }
  return Unit{};
}

Result<Unit> TirMachine::Impl::check(const ir::AssertStmt* st) {
  RLDB_TRY(const Scalar c, expr().eval(st->cond));
  if (c.i) return Unit{};
  std::string text;
  for (const std::string_view part : st->message_parts) text += part;
  return fail(ErrorKind::AssertFailed,
              fmt::format("{}: {}", st->error_kind, text.empty() ? ir::print_expr(st->cond) : text));
}

Result<Unit> TirMachine::Impl::declare(const ir::DeclBuffer* st) {
  const auto* data = st->data ? as<ir::Var>(st->data) : st->buffer->data;
  if (!data) {
    data = st->buffer->data;  // the value of a call: memory from the workspace, as LowerTVMBuiltin declares it
    RLDB_TRY(const bool is_memory, bind_call(data, st->data));
    if (!is_memory) {
      RLDB_TRY(env.pointers[data], pointer_of(st->data));
    }
  }
  const auto it = data ? env.pointers.find(data) : env.pointers.end();
  if (it == env.pointers.end()) {
    if (!st->data) return allocate_buffer(st->buffer);
    return fail(ErrorKind::Unsupported,
                fmt::format("the evaluator cannot follow the pointer behind `{}`", st->buffer->name));
  }
  const Pointer memory = it->second;
  RLDB_TRY(const Unit done, map_buffer(st->buffer, memory));
  if (ir::spans_memory(st)) {
    BufferValue& v = env.buffers[st->buffer];
    v.shape[0] = std::max(v.shape[0], std::int64_t((memory.end - memory.byte_offset) / v.dtype.bytes()));
  }
  return done;
}

Result<Unit> TirMachine::Impl::allocate_pointer(const ir::AllocateStmt* st) {
  RLDB_TRY(const std::vector<std::int64_t> shape, dims(st->extents));
  RLDB_TRY(env.pointers[st->var], allocate_shared(st->var, st->scope, shape, st->dtype, st->var->name));
  return Unit{};
}

Result<Unit> TirMachine::Impl::enter_attr(const ir::AttrStmt* st, Activity& top) {
  if (st->thread_var) return enter_threads(st, top);
  // A reduction over threads needs its reducer; other attributes have no meaning here.
  if (st->key == ir::kReduceScope)
    top.started = true;
  else
    stack.pop_back();
  push(st->body);
  return Unit{};
}

Result<Unit> TirMachine::Impl::evaluate(const ir::Expr* e) {
  const auto* c = as<ir::Call>(e);
  if (is_call_of<ir::intrin::Ret>(e)) {
    if (!c->args.empty()) {
      RLDB_TRY(result, expr().as_value(c->args[0]));
    }
    stack.resize(grid ? grid->depth() : 0);  // the thread's own
    return Unit{};
  }
  if (is_call_of<ir::intrin::ThreadReturn>(e)) {
    leave_thread();
    return Unit{};
  }
  const bool for_good = is_call_of<ir::intrin::BreakLoop>(e);
  if (for_good || is_call_of<ir::intrin::ContinueLoop>(e)) return leave_loop(for_good);
  if (is_call_of<ir::intrin::TvmStorageSync>(e)) return wait_at_barrier(stack.back().stmt, e);
  if (ir::meeting_of(e) == ir::Meeting::AllReduce) return pop_after(store_reduced(c));
  if (is_packed_call(e)) {
    RLDB_TRY(const Value ignored, expr().call_packed(c));
    (void)ignored;
    return pop_after(Unit{});
  }
  RLDB_TRY(const bool done, evaluate_lowered(e));
  if (done || ir::is_profile_mark(e)) return pop_after(Unit{});
  RLDB_TRY(const bool copied, evaluate_copy(e));
  if (copied) return pop_after(Unit{});
  RLDB_TRY(const Scalar ignored, expr().eval(e));
  (void)ignored;
  return pop_after(Unit{});
}

Result<Unit> TirMachine::Impl::leave_loop(bool for_good) {
  while (!stack.empty() && !as<ir::ForStmt>(stack.back().stmt) && !as<ir::WhileStmt>(stack.back().stmt))
    stack.pop_back();
  if (stack.empty()) return fail(ErrorKind::Raised, "break or continue outside a loop");
  if (for_good) stack.pop_back();
  return Unit{};
}

Error TirMachine::Impl::annotate(Error error) const {
  std::string text;
  for (const auto& [var, value] : variables())
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", var->name, runtime::format_value(value));
  if (!text.empty()) error.notes.push_back("with " + text);
  return error;
}

TirMachine::TirMachine(const ir::PrimFunc* f, const runtime::PackedRegistry* registry)
    : impl_(std::make_unique<Impl>(f, registry)) {}
TirMachine::~TirMachine() = default;
void TirMachine::set_poisoned_memory() { impl_->poisoned_memory = true; }
void TirMachine::watch(AccessWatcher* watcher) { impl_->watcher = watcher; }
TirMachine::TirMachine(const TirMachine& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}

Result<Unit> TirMachine::start(runtime::PackedArgs args) { return impl_->start(args); }
bool TirMachine::running() const { return !impl_->stack.empty(); }
const ir::Stmt* TirMachine::current() const { return impl_->stack.empty() ? nullptr : impl_->stack.back().stmt; }
Result<Unit> TirMachine::step() { return impl_->step(); }
Result<TirMachine::Ran> TirMachine::run(const RunLimits& limits) { return impl_->run(limits); }
void TirMachine::share(std::shared_ptr<CompiledStatements> compiled) { impl_->compiled = std::move(compiled); }
std::vector<std::pair<const ir::Var*, Value>> TirMachine::variables() const { return impl_->variables(); }
std::vector<std::pair<const ir::Buffer*, Value>> TirMachine::buffers() const { return impl_->buffers(); }
bool TirMachine::inside(const ir::Stmt* s) const { return impl_->inside(s); }
std::vector<const ir::Stmt*> TirMachine::enclosing() const {
  std::vector<const ir::Stmt*> out;
  for (const Activity& a : impl_->stack)
    if (a.started || as<ir::WhileStmt>(a.stmt)) out.push_back(a.stmt);
  return out;
}
Result<Value> TirMachine::value_of(const ir::Expr* e) const {
  RLDB_TRY(const Scalar v, impl_->expr().eval(e));
  return e->dtype().is_float() ? Value::of_float(v.f) : Value::of_int(v.i);
}
Result<Unit> TirMachine::seek(const TirPlace& place) { return impl_->seek(place); }
std::uint64_t TirMachine::steps() const { return impl_->steps; }
Value TirMachine::result() const { return impl_->result; }

}  // namespace rldb::eval
