// Threads of a GPU kernel: as loops, or in turns from barrier to barrier.
#include "eval/tir/threads.h"

#include <fmt/format.h>

#include <algorithm>

#include "eval/compiled/statements.h"
#include "eval/tir/tir_machine_impl.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/nested_threads.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_barriers.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::eval {

using ir::as;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using support::Unit;

namespace {

constexpr std::string_view kWarp = "warp";

// x inside y inside z, and all inside virtual threads.
int order(std::string_view tag) { return ir::is_thread_idx(tag) || ir::is_block_idx(tag) ? tag.back() : 'z' + 1; }

std::int64_t product(const std::vector<ThreadAxis>& axes) {
  std::int64_t n = 1;
  for (const ThreadAxis& a : axes)
    if (__builtin_mul_overflow(n, a.extent, &n)) return INT64_MAX;
  return n;
}

void place_at(std::vector<ThreadAxis>& axes, std::int64_t at) {
  for (ThreadAxis& a : axes) {
    a.at = at % a.extent;
    at /= a.extent;
  }
}

std::string_view sync_scope(const ir::Expr* e) {
  const auto* call = as<ir::Call>(e);
  const auto* scope = call && !call->args.empty() ? as<ir::StringImm>(call->args[0]) : nullptr;
  return scope ? scope->value : std::string_view();
}

bool is_warp_barrier(const Wait& w) { return w.meeting == ir::Meeting::Barrier && sync_scope(w.call) == kWarp; }

// The warp size that the shuffles of a kernel are written for.
Result<std::int64_t> warp_size_of(const ir::Stmt* root) {
  std::optional<std::int64_t> found;
  bool agree = true;
  ir::walk(root, [&](const ir::Node* n) {
    const auto* c = as<ir::Call>(n);
    if (!c || ir::meeting_of(c) != ir::Meeting::Shuffle || c->args.size() < 5) return true;
    const auto size = ir::const_int(c->args[4]);
    agree = agree && size && (!found || *found == *size) && *size > 0 && *size <= kMaxWarpSize;
    found = size;
    return true;
  });
  if (!agree)
    return fail(
        ErrorKind::Unsupported,
        fmt::format("the shuffles of a kernel need one size of a warp, a constant of at most {}", kMaxWarpSize));
  return found.value_or(kWarpSize);
}

std::string meeting_name(const Wait& w) {
  return w.meeting == ir::Meeting::Barrier ? "a barrier" : fmt::format("`T.{}`", ir::called_intrinsic(w.call)->name);
}

}  // namespace

const ThreadAxis* Grid::axis(std::string_view tag) const {
  for (const std::vector<ThreadAxis>* axes : {&blocks, &threads})
    for (const ThreadAxis& a : *axes)
      if (a.tag == tag) return &a;
  return nullptr;
}

void Grid::place(std::size_t thread) { place_at(threads, std::int64_t(thread)); }

std::int64_t Grid::lanes() const {
  std::int64_t n = 1;
  for (const ThreadAxis& a : threads)
    if (ir::is_thread_idx(a.tag)) n *= a.extent;
  return n;
}

std::int64_t Grid::warp_of(std::size_t thread) const {
  const std::int64_t flat = std::int64_t(thread), block = lanes();
  const std::int64_t in_block = (block + warp_size - 1) / warp_size;
  return flat / block * in_block + flat % block / warp_size;
}

std::map<std::int64_t, std::vector<std::size_t>> Grid::warps() const {
  std::map<std::int64_t, std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < running.size(); ++i) out[warp_of(i)].push_back(i);
  return out;
}

std::string Grid::name_of(std::size_t thread) {
  place(thread);
  std::string text;
  for (const ThreadAxis& a : threads) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", a.tag, a.at);
  place(current);
  return text;
}

// ---- entering ----

// A thread-bound loop or a launch: a loop over the threads, or the index of the current thread.
Result<Unit> TirMachine::Impl::enter_threads(const ir::Stmt* s, Activity& top) {
  const auto* loop = as<ir::ForStmt>(s);
  const auto* attr = as<ir::AttrStmt>(s);
  const ir::Var* var = loop ? loop->var : attr->thread_var;
  const ir::Stmt* body = loop ? loop->body : attr->body;
  if (!top.started) {
    RLDB_TRY(const std::int64_t extent, expr().integer(loop ? loop->extent : attr->value));
    std::int64_t min = 0;
    if (loop) {
      RLDB_TRY(min, expr().integer(loop->min));
    }
    top.started = true;
    top.at = min;
    top.end = min + extent;
    if (watcher && attr && !grid && !is_inside_threads()) watcher->launched(attr);
    if (grid) return place_of_thread(s, var, top);
    if (extent > 0 && waits_inside(body)) return open_grid(s);
    // The variable of an outer launch: the same threads.
    if (const Scalar* known = attr ? outer_value(attr) : nullptr) {
      top.at = known->i;
      top.end = top.at + 1;
    } else if (const Activity* outer = same_thread_around(s)) {
      return enter_same_thread(*outer, s, min, extent);
    }
  }
  if (top.at >= top.end) return Unit{};
  env.vars.set(var->id, of_int(wrap(top.at, var->dtype())));
  ++top.at;
  push(body);
  return Unit{};
}

bool TirMachine::Impl::is_inside_threads() const {
  for (std::size_t i = 0; i + 1 < stack.size(); ++i)
    if (stack[i].started && !ir::thread_tag(stack[i].stmt).empty()) return true;
  return false;
}

bool TirMachine::Impl::waits_inside(const ir::Stmt* s) {
  const auto [it, fresh] = barriers.try_emplace(s, false);
  if (fresh) {
    const ir::PlacedBarriers* more = placed();
    it->second = ir::has_barrier(s) || (more && (more->before(s) || more->are_below(s)));
  }
  return it->second;
}

CompiledStatements& TirMachine::Impl::statements() {
  if (!compiled) compiled = std::make_shared<CompiledStatements>();
  return *compiled;
}

const ir::PlacedBarriers* TirMachine::Impl::placed() { return places_barriers ? statements().barriers(f) : nullptr; }

// A thread waits before a statement where TVM's lowering will place a barrier.
bool TirMachine::Impl::meet_before(Activity& top) {
  const ir::PlacedBarriers* more = top.met || top.started ? nullptr : placed();
  const ir::Call* barrier = more ? more->before(top.stmt) : nullptr;
  if (!barrier) return false;
  top.met = true;
  Wait& wait = grid->running[grid->current].waits;
  wait = {};
  wait.at = top.stmt;
  wait.call = barrier;
  wait.meeting = ir::Meeting::Barrier;
  return true;
}

// The rest of the innermost thread is skipped.
void TirMachine::Impl::leave_thread() {
  if (grid) return stack.resize(grid->depth());
  while (!stack.empty() && ir::thread_tag(stack.back().stmt).empty()) stack.pop_back();
}

const Scalar* TirMachine::Impl::outer_value(const ir::AttrStmt* s) const {
  for (std::size_t i = 0; i + 1 < stack.size(); ++i) {
    const auto* outer = as<ir::AttrStmt>(stack[i].stmt);
    if (outer && outer->thread_var == s->thread_var && stack[i].started) return env.vars.find(s->thread_var->id);
  }
  return nullptr;
}

// Of threads around with the same tag those on which this statement depends.
const Activity* TirMachine::Impl::same_thread_around(const ir::Stmt* s) {
  const std::string_view tag = ir::thread_tag(s);
  for (std::size_t i = 0; i + 1 < stack.size(); ++i) {
    const ir::Stmt* outer = stack[i].stmt;
    if (!stack[i].started || ir::thread_tag(outer) != tag) continue;
    const auto [it, fresh] = same_threads.try_emplace({outer, s}, false);
    if (fresh) it->second = ir::needs_outer_thread(outer, s);
    if (it->second) return &stack[i];
  }
  return nullptr;
}

Result<Unit> TirMachine::Impl::enter_same_thread(const Activity& outer, const ir::Stmt* s, std::int64_t min,
                                                 std::int64_t extent) {
  Activity& top = stack.back();
  const auto* loop = as<ir::ForStmt>(outer.stmt);
  RLDB_TRY(const std::int64_t outer_extent, expr().integer(loop ? loop->extent : as<ir::AttrStmt>(outer.stmt)->value));
  const std::int64_t outer_min = outer.end - outer_extent;
  if (extent != outer_extent || min != outer_min)
    return fail(ErrorKind::Unsupported,
                fmt::format("`{}` and `{}` inside of it are the same threads `{}`, and their extents differ: {} and {}",
                            ir::thread_var(outer.stmt)->name, ir::thread_var(s)->name, ir::thread_tag(s), outer_extent,
                            extent));
  top.at = outer.at;  // behind the thread that runs
  top.end = outer.at;
  env.vars.set(ir::thread_var(s)->id, of_int(wrap(outer.at - 1, ir::thread_var(s)->dtype())));
  push(as<ir::ForStmt>(s) ? as<ir::ForStmt>(s)->body : as<ir::AttrStmt>(s)->body);
  return Unit{};
}

Result<Unit> TirMachine::Impl::place_of_thread(const ir::Stmt* s, const ir::Var* var, Activity& top) {
  const ThreadAxis* axis = grid->axis(ir::thread_tag(s));
  if (!axis || axis->extent != top.end - top.at)
    return fail(ErrorKind::Unsupported, fmt::format("the extent of `{}` is {} here, but {} where the kernel begins",
                                                    ir::thread_tag(s), top.end - top.at, axis ? axis->extent : 0));
  env.vars.set(var->id, of_int(wrap(top.at + axis->at, var->dtype())));
  top.at = top.end;
  push(as<ir::ForStmt>(s) ? as<ir::ForStmt>(s)->body : as<ir::AttrStmt>(s)->body);
  return Unit{};
}

// The threads of a kernel are determined at its beginning: their number cannot depend on its results.
Result<Unit> TirMachine::Impl::find_axes(const ir::Stmt* root, Grid& made) const {
  std::vector<const ir::Stmt*> all;
  ir::walk(root, [&](const ir::Node* n) {
    const auto* s = as<ir::Stmt>(n);
    if (s && !ir::thread_tag(s).empty()) all.push_back(s);
    return true;
  });
  for (const ir::Stmt* s : all) {
    const std::string_view tag = ir::thread_tag(s);
    if (made.axis(tag)) continue;  // another extent is detected at its entry
    const auto* loop = as<ir::ForStmt>(s);
    auto extent = expr().integer(loop ? loop->extent : as<ir::AttrStmt>(s)->value);
    if (!extent.ok() || *extent < 1)
      return fail(
          ErrorKind::Unsupported,
          fmt::format("how many threads `{}` has is not known where the kernel begins, and it has barriers", tag));
    const bool is_block = ir::is_block_idx(tag);
    if (!is_block && !ir::is_thread_idx(tag) && !tag.starts_with(ir::kVThread))
      return fail(ErrorKind::Unsupported,
                  fmt::format("the evaluator has no meaning for threads `{}` with barriers", tag));
    (is_block ? made.blocks : made.threads).push_back({tag, *extent});
  }
  const auto inner_first = [](const ThreadAxis& a, const ThreadAxis& b) {
    return std::pair(order(a.tag), a.tag) < std::pair(order(b.tag), b.tag);
  };
  std::sort(made.blocks.begin(), made.blocks.end(), inner_first);
  std::sort(made.threads.begin(), made.threads.end(), inner_first);
  if (product(made.threads) > kMaxThreads || product(made.blocks) == INT64_MAX)
    return fail(ErrorKind::Unsupported, fmt::format("a kernel with {} threads a block; at most {} can take turns",
                                                    product(made.threads), kMaxThreads));
  return Unit{};
}

Result<Unit> TirMachine::Impl::open_grid(const ir::Stmt* root) {
  if (const ir::PlacedBarriers* more = placed(); more && !more->obstacle().empty())
    return fail(ErrorKind::Unsupported, more->obstacle());
  Grid made;
  made.root = root;
  RLDB_TRY_VOID(find_axes(root, made));
  RLDB_TRY(made.warp_size, warp_size_of(root));
  Activity& top = stack.back();
  made.root_min = top.at;
  top.at = top.end;
  made.below = std::move(stack);
  made.outer = std::move(env);
  grid = std::move(made);
  return start_block();
}

// ---- a block ----

Result<Unit> TirMachine::Impl::start_block() {
  grid->shared.clear();
  grid->running.assign(std::size_t(product(grid->threads)), {});
  grid->current = 0;
  for (Thread& t : grid->running) {
    t.stack = grid->below;
    t.env = grid->outer;
    RLDB_TRY_VOID(copy_own_memory(t.env));
  }
  take_turn(0);
  return Unit{};
}

// Memory of scope "local" that was allocated before the threads began: each has its own copy.
Result<Unit> TirMachine::Impl::copy_own_memory(Environment& own) const {
  for (auto& [buffer, value] : own.buffers) {
    if (buffer->scope != "local" || !value.storage) continue;
    RLDB_TRY(runtime::Ref<runtime::Storage> copy, runtime::Storage::allocate(value.storage->size()));
    std::copy_n(value.storage->peek(), value.storage->size(), copy->data());
    value.storage = copy;
    if (const auto p = own.pointers.find(buffer->data); p != own.pointers.end()) p->second.storage = copy;
  }
  return Unit{};
}

void TirMachine::Impl::take_turn(std::size_t thread) {
  grid->current = thread;
  grid->place(thread);
  Thread& t = grid->running[thread];
  stack = std::move(t.stack);
  env = std::move(t.env);
  if (stack.size() > grid->depth() || t.begun) return settle();
  t.begun = true;
  const auto* loop = as<ir::ForStmt>(grid->root);
  const auto* attr = as<ir::AttrStmt>(grid->root);
  const ir::Var* var = loop ? loop->var : attr->thread_var;
  const ThreadAxis* axis = grid->axis(ir::thread_tag(grid->root));
  env.vars.set(var->id, of_int(wrap(grid->root_min + axis->at, var->dtype())));
  push(loop ? loop->body : attr->body);
  settle();
}

// After a step: goes on with the next thread when this one waits or is done.
Result<Unit> TirMachine::Impl::take_turns() {
  while (grid) {
    Thread& now = grid->running[grid->current];
    now.done = stack.size() <= grid->depth() && !now.waits;
    if (!now.done && !now.waits) return Unit{};
    now.stack = std::move(stack);
    now.env = std::move(env);
    if (now.done) {
      now.stack.clear();
      now.env = {};
    }
    const auto ready = [](const Thread& t) { return !t.done && !t.waits; };
    auto next = std::find_if(grid->running.begin() + std::ptrdiff_t(grid->current), grid->running.end(), ready);
    if (next == grid->running.end()) {
      RLDB_TRY(const bool more, release());
      if (!more) {
        RLDB_TRY_VOID(next_block());
        continue;
      }
      next = std::find_if(grid->running.begin(), grid->running.end(), ready);
    }
    take_turn(std::size_t(next - grid->running.begin()));
  }
  return Unit{};
}

// No thread can go on: releases everybody waiting where all required threads have arrived. False: all are done.
Result<bool> TirMachine::Impl::release() {
  std::vector<Thread>& all = grid->running;
  const auto first = std::find_if(all.begin(), all.end(), [](const Thread& t) { return !t.done; });
  if (first == all.end()) return false;
  bool released = false;
  for (const auto& [number, lanes] : grid->warps()) {
    RLDB_TRY(const bool some, release_lanes(lanes));
    released = released || some;
    const Wait& at = all[lanes[0]].waits;
    if (!at || !is_warp_barrier(at)) continue;
    if (!std::all_of(lanes.begin(), lanes.end(), [&](std::size_t i) { return all[i].waits.same_place(at); })) continue;
    for (const std::size_t i : lanes) all[i].waits = {};
    released = true;
  }
  if (released) return true;
  RLDB_TRY(released, release_groups(false));
  if (released) return true;
  if (release_active_lanes()) return true;
  const auto odd =
      std::find_if(all.begin(), all.end(), [&](const Thread& t) { return !t.waits.same_place(first->waits); });
  if (odd == all.end() && first->waits.meeting == ir::Meeting::AllReduce) return release_groups(true);
  if (odd == all.end() && first->waits.meeting == ir::Meeting::Barrier && !is_warp_barrier(first->waits)) {
    for (Thread& t : all) t.waits = {};
    return true;
  }
  const auto name = [&](auto it) { return grid->name_of(std::size_t(it - all.begin())); };
  return fail(ErrorKind::Raised,
              fmt::format("the threads of a block do not meet at {}: the thread with {} waits, the one with {} {}",
                          meeting_name(first->waits), name(first), name(odd == all.end() ? first : odd),
                          odd != all.end() && odd->done ? "is done" : "waits at another one"));
}

// A barrier of a warp that only a part of it reached, in a branch: the other lanes wait behind the branch, so they do
// not come, and those that are here go on.
bool TirMachine::Impl::release_active_lanes() {
  std::vector<Thread>& all = grid->running;
  bool released = false;
  for (const auto& [number, lanes] : grid->warps()) {
    const auto at = std::find_if(lanes.begin(), lanes.end(), [&](std::size_t i) {
      return !all[i].done && all[i].waits && is_warp_barrier(all[i].waits);
    });
    if (at == lanes.end()) continue;
    const Wait place = all[*at].waits;
    for (const std::size_t i : lanes)
      if (!all[i].done && all[i].waits.same_place(place)) all[i].waits = {};
    released = true;
  }
  return released;
}

Result<Unit> TirMachine::Impl::next_block() {
  if (++grid->block < product(grid->blocks)) {
    place_at(grid->blocks, grid->block);
    return start_block();
  }
  stack = std::move(grid->below);
  env = std::move(grid->outer);
  grid.reset();
  settle();
  return Unit{};
}

Result<Unit> TirMachine::Impl::wait_at_barrier(const ir::Stmt* s, const ir::Expr* barrier) {
  if (!grid) return pop_after(Unit{});  // one thread: no waiting
  if (sync_scope(barrier) == "global")
    return fail(ErrorKind::Unsupported, "the evaluator runs blocks one after another: they cannot wait for each other");
  Wait& wait = grid->running[grid->current].waits;
  wait = {};
  wait.at = s;
  wait.call = as<ir::Call>(barrier);
  wait.meeting = ir::Meeting::Barrier;
  return pop_after(Unit{});
}

// ---- memory ----

// Memory shared by several threads is created by the first to arrive; null: memory of the thread alone.
Pointer* TirMachine::Impl::shared_memory(const ir::Node* of, std::string_view scope) {
  if (!grid || scope == "local") return nullptr;
  const std::int64_t group = scope == kWarp ? grid->warp_of(grid->current) + 1 : 0;
  return &grid->shared[{of, group}];
}

}  // namespace rldb::eval
