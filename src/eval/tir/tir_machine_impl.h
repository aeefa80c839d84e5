// TirMachine's state and its parts: a stack of activities, one per statement in progress. Room-private.
#pragma once

#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "eval/tir/environment.h"
#include "eval/tir/expr_eval.h"
#include "eval/tir/threads.h"
#include "rldb/eval/empty_reduction.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/thread_barriers.h"

namespace rldb::eval {

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
  std::optional<Grid> grid;  // the kernel whose threads take turns
  std::unordered_map<const ir::Stmt*, bool> barriers;
  std::map<std::pair<const ir::Stmt*, const ir::Stmt*>, bool> same_threads;  // an outer one, and one inside of it
  std::unordered_map<const ir::Stmt*, std::vector<const ir::Call*>> exchanges;
  AccessWatcher* watcher = nullptr;
  std::shared_ptr<CompiledStatements> compiled;
  std::unordered_map<const ir::Var*, EmptyReduction> begun;  // by their memory: results without an element
  bool places_barriers = true;

  Impl(const ir::PrimFunc* f, const runtime::PackedRegistry* registry) : f(f), registry(registry) {}

  ExprEval expr() const { return ExprEval(env, registry, watcher); }

  // ---- buffers (tir_buffers.cc) ----
  Result<std::vector<std::int64_t>> dims(ir::Span<const ir::Expr*> exprs) const;

  // The window that a buffer's fields describe over a pointer.
  Result<Unit> map_buffer(const ir::Buffer* b, Pointer at);
  Result<Unit> allocate_buffer(const ir::Buffer* b);

  // The product of these is the number of elements in a buffer: its shape, or the span of its offset and strides (rows
  // as long as the outermost stride, the last one too).
  Result<std::vector<std::int64_t>> storage_extents(const ir::Buffer* b, const std::vector<std::int64_t>& shape) const;
  bool poisoned_memory = false;
  Result<Pointer> allocate(const std::vector<std::int64_t>& shape, DType dtype, std::string_view name);
  // The same, or the allocation that another thread made there.
  Result<Pointer> allocate_shared(const ir::Node* of, std::string_view scope, const std::vector<std::int64_t>& shape,
                                  DType dtype, std::string_view name);

  // A sub-region under another name: T.match_buffer(A[0:4, j], ...).
  Result<Unit> match_region(const ir::MatchBufferRegion& m);

  // A variable that a match_buffer defines is defined anew each time its block is entered.
  void note_matched(const ir::Expr* e);

  // A dimension that is a fresh variable is defined; anything else must agree.
  Result<Unit> bind_dim(const ir::Expr* e, std::int64_t value, std::string_view buffer, std::size_t dim);

  // ---- starting (tir_buffers.cc) ----
  Result<Unit> start(runtime::PackedArgs args);
  Result<Unit> bind_bare_dims(const ir::Buffer* b, const Value& arg);
  Result<Unit> begin_empty_reductions();
  Result<Unit> fill_begun(const ir::Var* data);

  // ---- running ----
  void push(const ir::Stmt* s);
  Result<Unit> step();

  // Passes over activities that a user would not call statements: sequences, and loops and blocks that are only to end.
  void settle();
  Result<Unit> advance();
  Result<Unit> advance_statement();
  Result<Unit> pop_after(Result<Unit> done);
  Result<Unit> bind(const ir::Var* var, const ir::Expr* value);
  Result<Unit> store_element(const ir::BufferStore* st);
  Result<Unit> store_lane(const ir::BufferStore* st, int lane, Scalar v);
  Result<bool> nest_is_empty(const ir::ForStmt* loop);
  Result<Unit> advance_loop(const ir::ForStmt* loop, Activity& top);

  // Phases: 0 not entered, 1 init done, 2 body running.
  Result<Unit> advance_block(const ir::SBlock* block, const ir::SBlockRealize* realize, Activity& top);
  Result<Unit> open_block_buffers(const ir::SBlock* block);
  Result<Unit> check(const ir::AssertStmt* st);
  Result<Unit> declare(const ir::DeclBuffer* st);
  Result<Unit> allocate_pointer(const ir::AllocateStmt* st);
  Result<Unit> choose(const ir::IfThenElse* st);
  Result<Unit> repeat(const ir::WhileStmt* st);
  Result<Unit> enter_attr(const ir::AttrStmt* st, Activity& top);
  Result<Unit> evaluate(const ir::Expr* e);
  Result<Unit> leave_loop(bool for_good);

  // Names the loop variables under which an error happened.
  runtime::Error annotate(runtime::Error error) const;

  // ---- many steps (compiled/execution.cc) ----
  class Execution;
  Result<Ran> run(const RunLimits& limits);
  Result<bool> run_compiled(const RunLimits& limits);
  bool inside_launch() const;
  bool repeats(const std::vector<std::string_view>& tags) const;

  // ---- lowered calls (packed_records.cc) ----
  Result<Pointer> pointer_of(const ir::Expr* e) const;
  Result<bool> bind_call(const ir::Var* var, const ir::Expr* value);
  Result<Unit> set_field(const ir::Call* c);
  Result<Field> field_value(const ir::Expr* e) const;
  Result<Field> field_of(const ir::Var* record, std::int64_t index, std::int64_t field) const;
  Result<Value> tensor_of(const ir::Var* record, std::int64_t index) const;
  static Result<Value> argument(const Field& field);
  Result<Unit> call_lowered(const ir::Call* c);
  Result<bool> evaluate_lowered(const ir::Expr* e);

  // ---- copies between memories of a device (copies.cc) ----
  // The place `offset` elements behind the pointer, from which on `bytes` are accessed.
  Result<std::byte*> memory_at(const ir::Expr* pointer, const ir::Expr* offset, DType element,
                               std::int64_t bytes) const;
  Result<Unit> copy_to_shared(const ir::Call* c);
  Result<Unit> load_if(const ir::Call* c);
  Result<bool> evaluate_copy(const ir::Expr* e);

  // ---- threads (threads.cc) ----
  Result<Unit> enter_threads(const ir::Stmt* s, Activity& top);
  bool is_inside_threads() const;  // below a statement that starts threads
  bool waits_inside(const ir::Stmt* s);
  CompiledStatements& statements();
  const ir::PlacedBarriers* placed();  // null: none
  bool meet_before(Activity& top);
  void leave_thread();
  const Scalar* outer_value(const ir::AttrStmt* s) const;
  const Activity* same_thread_around(const ir::Stmt* s);
  Result<Unit> enter_same_thread(const Activity& outer, const ir::Stmt* s, std::int64_t min, std::int64_t extent);
  Result<Unit> place_of_thread(const ir::Stmt* s, const ir::Var* var, Activity& top);
  Result<Unit> find_axes(const ir::Stmt* root, Grid& made) const;
  Result<Unit> open_grid(const ir::Stmt* root);
  Result<Unit> start_block();
  Result<Unit> copy_own_memory(Environment& own) const;
  void take_turn(std::size_t thread);
  Result<Unit> take_turns();
  Result<bool> release();
  bool release_active_lanes();
  Result<Unit> next_block();
  Result<Unit> wait_at_barrier(const ir::Stmt* s, const ir::Expr* barrier);
  Pointer* shared_memory(const ir::Node* of, std::string_view scope);

  // ---- exchanges between threads (exchange.cc) ----
  const std::vector<const ir::Call*>& exchanges_of(const ir::Stmt* s);
  Result<bool> exchange_first(const ir::Stmt* s);
  Result<Wait> offer(const ir::Stmt* s, const ir::Call* c) const;
  Result<Unit> offer_shuffle(Wait& wait) const;
  Result<Unit> offer_values(Wait& wait) const;
  Result<std::size_t> axis_of(const ir::Var* var) const;
  const ir::CommReducer* enclosing_reducer() const;
  Result<bool> release_lanes(const std::vector<std::size_t>& lanes);
  bool lanes_came(const std::vector<std::size_t>& lanes, const Wait& wait) const;
  Scalar shuffled(const std::vector<std::size_t>& lanes, std::size_t thread) const;
  std::uint64_t active_lanes(const std::vector<std::size_t>& lanes, const Wait& wait) const;
  Result<bool> release_groups(bool whole_block);
  Result<Unit> reduce_group(const std::vector<std::size_t>& members);
  void go_on(std::size_t thread, Scalar value);
  Result<Unit> store_reduced(const ir::Call* c);

  // ---- places (tir_place.cc) ----
  bool inside(const ir::Stmt* s) const;
  std::vector<std::pair<const ir::Var*, Value>> variables() const;
  std::vector<std::pair<const ir::Buffer*, Value>> buffers() const;
  // After `start`: the stack at a place, from the root to its statement.
  Result<Unit> seek(const TirPlace& place);
  Result<Unit> enter_on_the_way(const ir::Stmt* s, const ir::Stmt* inner, const TirPlace& place);
  Result<Unit> enter_one_thread(const ir::AttrStmt* s);
  Result<Unit> enter_loop(const ir::ForStmt* loop, bool at_head, const TirPlace& place);
  Result<Unit> enter_block(const ir::Stmt* s, const ir::Stmt* inner, const TirPlace& place);
  Result<Unit> declare_before(const ir::SeqStmt* seq, std::size_t end, const TirPlace& place);
};

}  // namespace rldb::eval
