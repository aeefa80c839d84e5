// Values that threads of a kernel exchange without memory: lanes of a warp by shuffles, threads of a block by
// T.tvm_thread_allreduce. A statement with such calls runs in two steps: each thread brings its operands and waits;
// once all required threads are there, each gets its value, and the statement runs with it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "eval/tir/parts.h"
#include "eval/tir/threads.h"
#include "eval/tir/tir_machine_impl.h"
#include "rldb/eval/access_watcher.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::eval {

using ir::as;
using ir::Intrinsic;
using ir::Meeting;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using support::Unit;

namespace {

// Calls whose value comes from other threads, the outer before the inner. Operands that an expression may skip are not
void collect_exchanges(const ir::Expr* e, std::vector<const ir::Call*>& out) {
  ir::walk(e, [&](const ir::Node* n) {
    const auto* part = as<ir::Expr>(n);
    if (!part) return false;
    const Meeting meeting = ir::meeting_of(part);
    if (meeting != Meeting::None && meeting != Meeting::Barrier) out.push_back(as<ir::Call>(part));
    const auto* binary = as<ir::BinaryExpr>(part);
    const bool is_short = binary && (part->kind == ir::BinaryKind::And || part->kind == ir::BinaryKind::Or);
    if (is_short) collect_exchanges(binary->a, out);
    const bool is_lazy = is_call_of<ir::intrin::IfThenElse>(part);
    if (is_lazy) collect_exchanges(as<ir::Call>(part)->args[0], out);
    return !is_short && !is_lazy;
  });
}

// The lane whose value a lane gets; itself where the group of lanes ends.
std::int64_t source_lane(Intrinsic id, std::int64_t lane, std::int64_t operand, std::int64_t width) {
  const std::int64_t begin = lane / width * width;
  if (id == ir::intrin::TvmWarpShuffle) return begin + (operand & (width - 1));
  std::int64_t from = lane ^ operand;
  if (id == ir::intrin::TvmWarpShuffleUp) from = lane - operand;
  if (id == ir::intrin::TvmWarpShuffleDown) from = lane + operand;
  const std::int64_t first = id == ir::intrin::TvmWarpShuffleXor ? 0 : begin;
  return from < first || from >= begin + width ? lane : from;
}

std::uint64_t bit(std::int64_t lane) { return std::uint64_t(1) << lane; }

}  // namespace

const std::vector<const ir::Call*>& TirMachine::Impl::exchanges_of(const ir::Stmt* s) {
  const auto [it, fresh] = exchanges.try_emplace(s);
  if (!fresh) return it->second;
  ir::for_each_use(s, [&](const ir::Node* part) {
    if (const auto* e = as<ir::Expr>(part)) collect_exchanges(e, it->second);
  });
  std::reverse(it->second.begin(), it->second.end());
  return it->second;
}

// True: the thread waits for a value that the statement needs.
Result<bool> TirMachine::Impl::exchange_first(const ir::Stmt* s) {
  for (const ir::Call* c : exchanges_of(s)) {
    if (env.exchanged.contains(c)) continue;
    RLDB_TRY(grid->running[grid->current].waits, offer(s, c));
    return true;
  }
  return false;
}

// ---- operands brought by a thread ----

Result<Wait> TirMachine::Impl::offer(const ir::Stmt* s, const ir::Call* c) const {
  Wait wait;
  wait.at = s;
  wait.call = c;
  wait.meeting = ir::meeting_of(c);
  if (wait.meeting == Meeting::Shuffle) {
    RLDB_TRY_VOID(offer_shuffle(wait));
  }
  if (wait.meeting == Meeting::AllReduce) {
    RLDB_TRY_VOID(offer_values(wait));
  }
  return wait;
}

// args: mask, value, lane or distance, width, warp size
Result<Unit> TirMachine::Impl::offer_shuffle(Wait& wait) const {
  const auto args = wait.call->args;
  if (args.size() != 5 || lanes_of(wait.call) > 1)
    return fail(ErrorKind::Unsupported,
                fmt::format("`{}` needs a mask, a scalar, a lane or distance, a width and the size of a warp",
                            ir::print_expr(wait.call)));
  RLDB_TRY(const std::int64_t mask, expr().integer(args[0]));
  RLDB_TRY(const Scalar value, expr().eval(args[1]));
  RLDB_TRY(wait.operand, expr().integer(args[2]));
  RLDB_TRY(wait.width, expr().integer(args[3]));
  if (wait.width < 1 || wait.width > grid->warp_size || !std::has_single_bit(std::uint64_t(wait.width)))
    return fail(ErrorKind::Raised, fmt::format("the width of `{}` is {}; it must be a power of two of at most {}",
                                               ir::print_expr(wait.call), wait.width, grid->warp_size));
  wait.mask = std::uint64_t(wrap(mask, DType::UInt(args[0]->dtype().bits)));
  wait.given = {value};
  const std::int64_t lane = grid->lane_of(grid->current);
  if (wait.mask != 0 && (wait.mask & bit(lane)) == 0)
    return fail(ErrorKind::Raised, fmt::format("lane {} calls `{}` with the mask {:#x}, which it is not in", lane,
                                               ir::print_expr(wait.call), wait.mask));
  return Unit{};
}

// args: number of values, the values, whether they count, the places of the results, the variables of the threads
Result<Unit> TirMachine::Impl::offer_values(Wait& wait) const {
  const auto args = wait.call->args;
  const auto count = args.empty() ? std::nullopt : ir::const_int(args[0]);
  wait.reducer = enclosing_reducer();
  if (!count || *count < 1 || !wait.reducer || std::size_t(*count) != wait.reducer->lhs.size() ||
      args.size() < 2 + 2 * std::size_t(*count))
    return fail(ErrorKind::Unsupported,
                fmt::format("`{}` needs a `T.attr` of the key `{}` around it, with a reducer of as many values",
                            ir::print_expr(wait.call), ir::kReduceScope));
  const std::size_t n = std::size_t(*count);
  RLDB_TRY(const Scalar counts, expr().eval(args[1 + n]));
  for (std::size_t i = 0; i < n; ++i) {
    RLDB_TRY(const Scalar v, expr().eval(counts.i ? args[1 + i] : wait.reducer->identities[i]));
    wait.given.push_back(v);
  }
  wait.reduced.assign(grid->threads.size(), false);
  for (std::size_t i = 2 + 2 * n; i < args.size(); ++i) {
    const auto* var = as<ir::Var>(args[i]);
    if (ir::is_const(args[i], 0)) continue;  // the number of the one thread of an axis
    if (!var)
      return fail(ErrorKind::Unsupported, fmt::format("`{}` in `{}` is not a variable of the threads of a block",
                                                      ir::print_expr(args[i]), ir::print_expr(wait.call)));
    RLDB_TRY(const std::size_t axis, axis_of(var));
    wait.reduced[axis] = true;
  }
  return Unit{};
}

const ir::CommReducer* TirMachine::Impl::enclosing_reducer() const {
  for (auto it = stack.rbegin(); it != stack.rend(); ++it) {
    const auto* attr = as<ir::AttrStmt>(it->stmt);
    if (attr && attr->key == ir::kReduceScope) return attr->node ? as<ir::CommReducer>(attr->node->node) : nullptr;
  }
  return nullptr;
}

// By the statement that defines the variable of a thread.
Result<std::size_t> TirMachine::Impl::axis_of(const ir::Var* var) const {
  for (const Activity& a : stack) {
    const auto* loop = as<ir::ForStmt>(a.stmt);
    const auto* attr = as<ir::AttrStmt>(a.stmt);
    if ((loop ? loop->var : attr ? attr->thread_var : nullptr) != var) continue;
    for (std::size_t i = 0; i < grid->threads.size(); ++i)
      if (grid->threads[i].tag == ir::thread_tag(a.stmt)) return i;
  }
  return fail(ErrorKind::Unsupported, fmt::format("`{}` is not a variable of the threads of a block", var->name));
}

// ---- values received ----

void TirMachine::Impl::go_on(std::size_t thread, Scalar value) {
  Thread& t = grid->running[thread];
  t.env.exchanged[t.waits.call] = value;
  t.waits.at = nullptr;  // an AllReduce's result is taken by its statement
}

// The lanes of a warp whose shuffle or mask is complete.
Result<bool> TirMachine::Impl::release_lanes(const std::vector<std::size_t>& lanes) {
  std::vector<std::pair<std::size_t, Scalar>> ready;
  for (const std::size_t i : lanes) {
    const Wait& wait = grid->running[i].waits;
    if (!wait) continue;
    if (wait.meeting == Meeting::Shuffle && lanes_came(lanes, wait)) ready.emplace_back(i, shuffled(lanes, i));
    if (wait.meeting == Meeting::ActiveMask)
      ready.emplace_back(i, of_int(wrap(std::int64_t(active_lanes(lanes, wait)), wait.call->dtype())));
  }
  for (const auto& [i, value] : ready) go_on(i, value);
  return !ready.empty();
}

// Lanes that are done, and those that the warp lacks, need not arrive.
bool TirMachine::Impl::lanes_came(const std::vector<std::size_t>& lanes, const Wait& wait) const {
  return std::all_of(lanes.begin(), lanes.end(), [&](std::size_t i) {
    const Thread& t = grid->running[i];
    return (wait.mask & bit(grid->lane_of(i))) == 0 || t.done || t.waits.same_place(wait);
  });
}

// The value of a missing lane is undefined; here it is the lane's own value.
Scalar TirMachine::Impl::shuffled(const std::vector<std::size_t>& lanes, std::size_t thread) const {
  const Wait& wait = grid->running[thread].waits;
  const Intrinsic id = ir::called_intrinsic(wait.call)->id;
  const auto from = std::size_t(source_lane(id, grid->lane_of(thread), wait.operand, wait.width));
  if (from >= lanes.size()) return wait.given[0];
  const Wait& other = grid->running[lanes[from]].waits;
  return other.same_place(wait) ? other.given[0] : wait.given[0];
}

std::uint64_t TirMachine::Impl::active_lanes(const std::vector<std::size_t>& lanes, const Wait& wait) const {
  std::uint64_t mask = 0;
  for (const std::size_t i : lanes)
    if (grid->running[i].waits.same_place(wait)) mask |= bit(grid->lane_of(i));
  return mask;
}

// Threads that reduce together: those that differ in the reduced axes only. A group inside one warp needs no other
// thread; a larger one goes through memory of the block, which all its threads must reach.
Result<bool> TirMachine::Impl::release_groups(bool whole_block) {
  std::map<std::pair<const ir::Call*, std::size_t>, std::vector<std::size_t>> groups;
  std::map<const ir::Call*, const Wait*> calls;
  for (const Thread& t : grid->running)
    if (t.waits && t.waits.meeting == Meeting::AllReduce) calls.emplace(t.waits.call, &t.waits);
  for (const auto& [call, wait] : calls)
    for (std::size_t i = 0; i < grid->running.size(); ++i) {
      std::size_t rest = i, key = 0, radix = 1;
      for (std::size_t a = 0; a < grid->threads.size(); ++a) {
        const std::size_t extent = std::size_t(grid->threads[a].extent), at = rest % extent;
        rest /= extent;
        if (!wait->reduced[a]) key += at * radix;
        radix *= extent;
      }
      groups[{call, key}].push_back(i);
    }
  bool released = false;
  for (const auto& [key, members] : groups) {
    const Wait& first = grid->running[members[0]].waits;
    const std::int64_t warp = grid->warp_of(members[0]);
    const bool complete =
        first && std::all_of(members.begin(), members.end(), [&](std::size_t i) {
          return grid->running[i].waits.same_place(first) && (whole_block || grid->warp_of(i) == warp);
        });
    if (!complete || first.call != key.first) continue;
    RLDB_TRY_VOID(reduce_group(members));
    released = true;
  }
  return released;
}

// In the order of the threads.
Result<Unit> TirMachine::Impl::reduce_group(const std::vector<std::size_t>& members) {
  const ir::CommReducer* r = grid->running[members[0]].waits.reducer;
  std::vector<Scalar> sum = grid->running[members[0]].waits.given;
  Environment operands;
  const ExprEval combine(operands, registry);
  for (std::size_t i = 1; i < members.size(); ++i) {
    const std::vector<Scalar>& given = grid->running[members[i]].waits.given;
    for (std::size_t k = 0; k < sum.size(); ++k) {
      operands.vars.set(r->lhs[k]->id, sum[k]);
      operands.vars.set(r->rhs[k]->id, given[k]);
    }
    for (std::size_t k = 0; k < sum.size(); ++k) {
      RLDB_TRY(sum[k], combine.eval(r->results[k]));
    }
  }
  for (const std::size_t i : members) {
    grid->running[i].waits.given = sum;
    go_on(i, {});
  }
  return Unit{};
}

// The statement itself: every thread stores the result of its group.
Result<Unit> TirMachine::Impl::store_reduced(const ir::Call* c) {
  if (!grid) return support::Failure(expr().eval(c).error());
  const std::vector<Scalar> values = grid->running[grid->current].waits.given;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ir::Expr* to = c->args[2 + values.size() + i];
    const DType t = c->args[1 + i]->dtype();
    if (const auto* element = as<ir::BufferLoad>(to)) {
      RLDB_TRY(std::byte * at, expr().address(element->buffer, element->indices, 0));
      store(at, t, values[i]);
      if (watcher) watcher->stored(at, t.bytes());
      continue;
    }
    RLDB_TRY(const Pointer p, pointer_of(to));
    if (!p.storage || p.end < p.byte_offset + t.bytes())
      return fail(ErrorKind::OutOfBounds, fmt::format("`{}` reaches past its memory", ir::print_expr(to)));
    store(p.storage->data() + p.byte_offset, t, values[i]);
    if (watcher) watcher->stored(p.storage->data() + p.byte_offset, t.bytes());
  }
  return Unit{};
}

}  // namespace rldb::eval
