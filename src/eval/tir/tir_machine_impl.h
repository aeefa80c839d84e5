// TirMachine's state and the parts it is made of: a stack of activities, one a statement in progress. Room-private.
#pragma once

#include <unordered_set>

#include "eval/tir/environment.h"
#include "eval/tir/expr_eval.h"
#include "rldb/eval/eval.h"

namespace rldb::eval {

// A statement in progress. What the numbers mean depends on the statement: a loop counts in `at` up to `end`, a
// sequence indexes in `at`, a block goes through its phases.
struct Activity {
  const ir::Stmt* stmt;
  std::int64_t at = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
  bool started = false;
};

struct TirMachine::Impl {
  template <class T>
  using Result = runtime::Result<T>;
  using Unit = support::Unit;
  using Value = runtime::Value;

  const ir::PrimFunc* f;
  const runtime::PackedRegistry* registry;
  Environment env;
  std::vector<Activity> stack;
  std::uint64_t steps = 0;
  Value result;
  std::unordered_set<const ir::Var*> matched;

  Impl(const ir::PrimFunc* f, const runtime::PackedRegistry* registry) : f(f), registry(registry) {}

  ExprEval expr() const { return ExprEval(env, registry); }

  // ---- buffers (tir_buffers.cc) ----
  Result<std::vector<std::int64_t>> dims(ir::Span<const ir::Expr*> exprs) const;

  // The window that a buffer's fields describe over a pointer.
  Result<Unit> map_buffer(const ir::Buffer* b, Pointer at);
  Result<Unit> allocate_buffer(const ir::Buffer* b);

  // The product of these many elements holds a buffer: its shape, or what its offset and strides span (rows as long as
  // the outermost stride, the last one too).
  Result<std::vector<std::int64_t>> storage_extents(const ir::Buffer* b, const std::vector<std::int64_t>& shape) const;
  Result<Pointer> allocate(const std::vector<std::int64_t>& shape, DType dtype, std::string_view name);

  // A sub-region under another name: T.match_buffer(A[0:4, j], ...).
  Result<Unit> match_region(const ir::MatchBufferRegion& m);

  // A variable that a match_buffer defines is defined anew each time its block is entered.
  void note_matched(const ir::Expr* e);

  // A dimension that is a fresh variable is defined; anything else has to agree.
  Result<Unit> bind_dim(const ir::Expr* e, std::int64_t value, std::string_view buffer, std::size_t dim);

  // ---- starting (tir_buffers.cc) ----
  Result<Unit> start(runtime::PackedArgs args);
  Result<Unit> bind_bare_dims(const ir::Buffer* b, const Value& arg);

  // ---- running ----
  void push(const ir::Stmt* s);
  Result<Unit> step();

  // Passes over what a user would not call a statement: sequences, and loops and blocks that are only waiting to end.
  void settle();
  Result<Unit> advance();
  Result<Unit> pop_after(Result<Unit> done);
  Result<Unit> bind(const ir::Var* var, const ir::Expr* value);
  Result<Unit> store_element(const ir::BufferStore* st);
  Result<Unit> store_lane(const ir::BufferStore* st, int lane, Scalar v);
  Result<Unit> advance_loop(const ir::ForStmt* loop, Activity& top);

  // Phases: 0 not entered, 1 init done, 2 body running.
  Result<Unit> advance_block(const ir::SBlock* block, const ir::SBlockRealize* realize, Activity& top);
  Result<Unit> open_block_buffers(const ir::SBlock* block);
  Result<Unit> check(const ir::AssertStmt* st);
  Result<Unit> declare(const ir::DeclBuffer* st);
  Result<Unit> allocate_pointer(const ir::AllocateStmt* st);
  Result<Unit> enter_attr(const ir::AttrStmt* st);
  Result<Unit> evaluate(const ir::Expr* e);
  Result<Unit> leave_loop(bool for_good);

  // Names the loop variables that an error happened under.
  runtime::Error annotate(runtime::Error error) const;

  // ---- places (tir_place.cc) ----
  bool inside(const ir::Stmt* s) const;
  std::vector<std::pair<const ir::Var*, Value>> variables() const;
  std::vector<std::pair<const ir::Buffer*, Value>> buffers() const;
  // After `start`: the stack as it is at a place, from the root to its statement.
  Result<Unit> seek(const TirPlace& place);
  Result<Unit> enter_on_the_way(const ir::Stmt* s, const ir::Stmt* inner, const TirPlace& place);
  Result<Unit> enter_loop(const ir::ForStmt* loop, bool at_head, const TirPlace& place);
  Result<Unit> enter_block(const ir::Stmt* s, const ir::Stmt* inner, const TirPlace& place);
  Result<Unit> declare_before(const ir::SeqStmt* seq, std::size_t end, const TirPlace& place);
};

}  // namespace rldb::eval
