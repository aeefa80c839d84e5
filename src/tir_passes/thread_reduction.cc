// Reductions across threads, by shuffles of warps or through shared memory.
#include "tir_passes/thread_reduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/device.h"
#include "rldb/tir_passes/memory_scope.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kLocal = "local";

const runtime::DeviceKind* defaults_of(const Attr* target) {
  const runtime::DeviceKind* found = runtime::find_device_kind(target_kind(target));
  return found && found->is_gpu() ? found : nullptr;
}

}  // namespace

std::int64_t warp_of(const Attr* target) {
  const runtime::DeviceKind* t = defaults_of(target);
  return target_number(target, "thread_warp_size").value_or(t ? t->warp : 1);
}

std::int64_t max_threads_of(const Attr* target) {
  const runtime::DeviceKind* t = defaults_of(target);
  return target_number(target, "max_num_threads").value_or(t ? t->threads : -1);
}

const Stmt* ThreadReduction::make() {
  if (!by_shuffles) return through_memory();
  return extent <= warp_ ? one_warp() : several_warps();
}

const Stmt* ThreadReduction::one_warp() {
  Stmts code;
  const auto buffers = shuffled(extent, nullptr, code);
  const Buffer* mask = masked ? temporaries_.back() : nullptr;
  // Every thread gets the first one's result.
  for (const Buffer* b : buffers) {
    const Expr* first =
        shuffle(intrin::TvmWarpShuffle, mask, at(b, imm(0)), mul(ctx_, ctx_.i32(std::int32_t(extent)), group));
    code.push_back(ctx_.store(b, first, {{imm(0)}}));
  }
  result_buffers = buffers;
  result_index = imm(0);
  Stmts out;
  for (auto it = temporaries_.rbegin(); it != temporaries_.rend(); ++it) out.push_back(ctx_.alloc_buffer(*it));
  out.insert(out.end(), code.begin(), code.end());
  return ctx_.seq_stmt(out);
}

// Each warp reduces its part; the first one reduces what they give.
const Stmt* ThreadReduction::several_warps() {
  const std::int64_t warps = extent / warp_;
  Stmts code;
  std::vector<const Buffer*> staging;
  for (const Expr* v : values)
    staging.push_back(buffer("red_buf_staging", warps * groups, v->dtype(), memory_scope::kShared));
  temporaries_ = staging;
  const auto firsts = shuffled(warp_, nullptr, code);
  temporaries_.insert(temporaries_.end(), firsts.begin(), firsts.end());
  const Expr* row = mul(ctx_, group, imm(warps));
  Stmts writes;
  for (std::size_t i = 0; i < staging.size(); ++i)
    writes.push_back(
        ctx_.store(staging[i], at(firsts[i], imm(0)), {{add(ctx_, row, floor_div(ctx_, index, imm(warp_)))}}));
  code.push_back(
      ctx_.if_stmt(ctx_.binary(BinaryKind::EQ, floor_mod(ctx_, index, imm(warp_)), imm(0)), ctx_.seq_stmt(writes)));
  code.push_back(sync(memory_scope::kShared));
  for (std::size_t i = 0; i < staging.size(); ++i) values[i] = at(staging[i], add(ctx_, row, index));
  const auto seconds = shuffled(warps, below(warps), code);
  temporaries_.insert(temporaries_.end(), seconds.begin(), seconds.end());
  Stmts results;
  for (std::size_t i = 0; i < staging.size(); ++i) {
    result_buffers.push_back(buffer("red_result", groups, values[i]->dtype(), memory_scope::kShared));
    results.push_back(ctx_.store(result_buffers[i], at(seconds[i], imm(0)), {{group}}));
  }
  result_index = group;
  code.push_back(ctx_.if_stmt(ctx_.binary(BinaryKind::EQ, index, imm(0)), ctx_.seq_stmt(results)));
  code.push_back(sync(memory_scope::kShared));
  Stmts out;
  for (auto it = temporaries_.rbegin(); it != temporaries_.rend(); ++it) out.push_back(ctx_.alloc_buffer(*it));
  out.insert(out.end(), code.begin(), code.end());
  return ctx_.seq_stmt(out);
}

// Reduces `count` neighbours; the first one has the result. Threads that are inactive give no values, so that those
// without a partner keep theirs.
std::vector<const Buffer*> ThreadReduction::shuffled(std::int64_t count, const Expr* only_if, Stmts& out) {
  std::vector<const Buffer*> own, other;
  Stmts loads;
  const Expr* zero = ctx_.i32(0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    own.push_back(buffer(fmt::format("red_buf{}", i), 1, values[i]->dtype(), kLocal));
    loads.push_back(ctx_.store(own[i], values[i], {{zero}}));
    other.push_back(buffer(fmt::format("t{}", i), 1, values[i]->dtype(), kLocal));
  }
  if (only_if) loads = {ctx_.if_stmt(only_if, ctx_.seq_stmt(loads))};
  out.insert(out.end(), loads.begin(), loads.end());
  temporaries_.insert(temporaries_.end(), other.begin(), other.end());
  const Buffer* mask = nullptr;
  if (masked) {
    mask = buffer("mask", 1, DType::UInt(32), kLocal);
    out.push_back(ctx_.store(mask, ctx_.intrin(DType::UInt(32), intrin::TvmWarpActivemask, {}), {{zero}}));
    temporaries_.push_back(mask);
  }
  std::int64_t distance = 1;
  while (distance * 2 < count) distance *= 2;
  for (; distance > 0; distance /= 2) {
    Exprs a, b;
    for (std::size_t i = 0; i < own.size(); ++i) {
      a.push_back(at(own[i], zero));
      const Expr* given = shuffle(intrin::TvmWarpShuffleDown, mask, a[i], ctx_.i32(std::int32_t(distance)));
      out.push_back(ctx_.store(other[i], given, {{zero}}));
      b.push_back(at(other[i], zero));
    }
    const Stmt* store = stored(own, combined(a, b), zero);
    if (distance * 2 > count)
      store = ctx_.if_stmt(ctx_.binary(BinaryKind::LT, add(ctx_, index, imm(distance)), imm(count)), store);
    out.push_back(store);
  }
  return own;
}

const Stmt* ThreadReduction::through_memory() {
  Stmts out{sync(memory_scope::kShared)};  // the memory may still be read, when this is in a loop
  for (std::size_t i = 0; i < values.size(); ++i) {
    result_buffers.push_back(
        buffer(fmt::format("red_buf{}", i), groups * extent, values[i]->dtype(), memory_scope::kShared));
    out.push_back(ctx_.store(result_buffers[i], values[i], {{place(index)}}));
  }
  result_index = place(imm(0));
  out.push_back(sync(memory_scope::kShared));
  std::int64_t align = 1;
  while (align < extent) align *= 2;
  if (align > extent) {
    align /= 2;
    out.push_back(
        ctx_.if_stmt(below(extent - align), stored(result_buffers, combined_at(align, result_buffers), place(index))));
    out.push_back(sync(memory_scope::kShared));
  }
  halve(align, result_buffers, out);
  return ctx_.seq_stmt(out);
}

void ThreadReduction::halve(std::int64_t align, const std::vector<const Buffer*>& buffers, Stmts& out) {
  const bool whole_warps = groups == 1 || neighbours % warp_ == 0;
  while (align > 1 && (align > neighbours || align > warp_ || !whole_warps)) {
    align /= 2;
    out.push_back(ctx_.if_stmt(below(align), stored(buffers, combined_at(align, buffers), place(index))));
    out.push_back(sync(memory_scope::kShared));
  }
  if (align > 1) halve_in_warp(align, buffers, out);
}

// Threads of one warp run together, except that a value has to be read before another thread replaces it.
void ThreadReduction::halve_in_warp(std::int64_t align, const std::vector<const Buffer*>& buffers, Stmts& out) {
  const Expr* cond = below(align / 2);
  Stmts steps;
  while (align > 1) {
    align /= 2;
    const Exprs made = combined_at(align, buffers);
    Exprs kept;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Var* v = ctx_.var(fmt::format("w_{}_{}", align, i), made[i]->type);
      steps.push_back(ctx_.bind(v, made[i]));
      kept.push_back(v);
    }
    steps.push_back(sync("warp"));
    steps.push_back(stored(buffers, kept, place(index)));
    steps.push_back(sync("warp"));
  }
  out.push_back(ctx_.if_stmt(cond, ctx_.seq_stmt(steps)));
  out.push_back(sync(memory_scope::kShared));
}

const Expr* ThreadReduction::shuffle(Intrinsic id, const Buffer* mask, const Expr* value, const Expr* lane) {
  const Expr* active = mask ? at(mask, ctx_.i32(0)) : static_cast<const Expr*>(ctx_.i32(0));
  const Expr* width = ctx_.i32(std::int32_t(warp_));
  return ctx_.intrin(value->dtype(), id, {active, value, lane, width, width});
}

ThreadReduction::Exprs ThreadReduction::combined(const Exprs& a, const Exprs& b) {
  VarMap map;
  for (std::size_t i = 0; i < a.size(); ++i) {
    map[combiner_->lhs[i]] = a[i];
    map[combiner_->rhs[i]] = b[i];
  }
  Exprs out;
  for (const Expr* e : combiner_->results) out.push_back(substitute(ctx_, e, map));
  return out;
}

// This thread's value with that of the thread at a distance.
ThreadReduction::Exprs ThreadReduction::combined_at(std::int64_t distance, const std::vector<const Buffer*>& buffers) {
  Exprs a, b;
  for (const Buffer* buffer : buffers) {
    b.push_back(at(buffer, place(add(ctx_, index, imm(distance)))));
    a.push_back(at(buffer, place(index)));
  }
  return combined(a, b);
}

// Several results are all computed before the first is stored, because they read each other's buffers.
const Stmt* ThreadReduction::stored(const std::vector<const Buffer*>& buffers, Exprs made, const Expr* at) {
  Stmts out;
  for (const Expr*& e : made) {
    if (made.size() == 1 || isa<Var>(e)) break;
    const Var* v = ctx_.var("result", e->type);
    out.push_back(ctx_.bind(v, e));
    e = v;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) out.push_back(ctx_.store(buffers[i], made[i], {{at}}));
  return ctx_.seq_stmt(out);
}

const Expr* ThreadReduction::place(const Expr* at) {
  if (is_const(group, 0)) return at;
  return Analyzer(ctx_).simplify(add(ctx_, mul(ctx_, group, imm(extent)), at));
}

const Expr* ThreadReduction::below(std::int64_t bound) { return ctx_.binary(BinaryKind::LT, index, imm(bound)); }

const Buffer* ThreadReduction::buffer(std::string_view name, std::int64_t size, DType dtype, std::string_view scope) {
  const Expr* const shape[] = {imm(size)};
  return ctx_.buffer(name, shape, dtype, scope);
}

const Stmt* ThreadReduction::sync(std::string_view scope) {
  return ctx_.evaluate(ctx_.intrin(DType::Int(32), intrin::TvmStorageSync, {ctx_.string(scope)}));
}

}  // namespace rldb::passes
