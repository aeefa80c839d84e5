// DefaultGPUSchedule: loops of PrimFuncs for a GPU are bound to its threads. In each nest around one block the loops
// over independent elements are fused, and the fused loop is split into blocks of threads; beyond 256 full blocks, a
// loop inside each thread covers the remaining elements.
//
// A function that is marked as scheduled, or is for another kind of target, is left alone, and so is a nest that has
// its own threads or is not perfect. Without a target the numbers for CUDA are used.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"
#include "tir_passes/gpu_nest.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kMaxBlocks = 256;

class ThreadBinder : public Rewriter {
 public:
  ThreadBinder(Context& ctx, std::int64_t threads) : Rewriter(ctx), threads_(threads) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (opens_threads(s)) return s;
    if (!isa<ForStmt>(s) && !isa<SBlockRealize>(s)) return default_stmt(s);
    GpuNest nest;
    const auto* realize = as<SBlockRealize>(s);
    if (realize && realize->block->iter_vars.empty() && !is_leaf_block(realize->block)) return default_stmt(s);
    return find_gpu_nest(s, nest) ? bound(s, nest) : s;
  }

 private:
  const Stmt* bound(const Stmt* s, const GpuNest& nest) {
    if (!support::may_rewrite(
            [&] { return fmt::format("the loops around `{}` are bound to threads", nest.realize->block->name); }))
      return s;
    std::vector<const ForStmt*> spatial, rest;
    for (std::size_t i = 0; i < nest.loops.size(); ++i)
      (nest.realize->block->iter_vars[i].kind == IterKind::Spatial ? spatial : rest).push_back(nest.loops[i]);
    const DType dtype = spatial.empty() ? DType::Int(32) : spatial[0]->var->dtype();
    std::string name = spatial.empty() ? "u" : "";
    const Expr* total = ctx_.int_imm(dtype, 1);
    for (const ForStmt* f : spatial) {
      name += (name.empty() ? "" : "_") + std::string(f->var->name);
      total = mul(ctx_, total, cast_to(ctx_, dtype, f->extent));
    }
    return threads(name + "_fused", total, [&](const Expr* index, const Expr* in_range) {
      return inner(nest, spatial, rest, index, in_range);
    });
  }

  using Body = std::function<const Stmt*(const Expr* index, const Expr* in_range)>;

  const Stmt* thread_loop(const Var* v, const Expr* extent, std::string_view tag, const Stmt* body) {
    return ctx_.for_stmt(v, ctx_.int_imm(v->dtype(), 0), extent, ForKind::ThreadBinding, body, {}, tag);
  }

  const Stmt* threads(const std::string& name, const Expr* total, const Body& body) {
    const DType dtype = total->dtype();
    const auto lit = [&](std::int64_t v) { return ctx_.int_imm(dtype, v); };
    const auto known = const_int(total);
    const auto part = [&](int i) { return ctx_.var(fmt::format("{}_{}", name, i), ctx_.prim(dtype)); };
    const auto times = [&](std::int64_t size) { return floor_div(ctx_, add(ctx_, total, lit(size - 1)), lit(size)); };
    const auto guard = [&](const Expr* index, std::int64_t size) -> const Expr* {
      return known && *known % size == 0 ? nullptr : compare(ctx_, BinaryKind::LT, index, total);
    };
    if (known && *known <= threads_ * kMaxBlocks) {
      const std::int64_t size = std::max<std::int64_t>(std::min(*known, threads_), 1);
      const Var *block = part(0), *thread = part(1);
      const Expr* index = add(ctx_, mul(ctx_, block, lit(size)), thread);
      const Stmt* inside = thread_loop(thread, lit(size), kThreadIdxX, body(index, guard(index, size)));
      return thread_loop(block, times(size), kBlockIdxX, inside);
    }
    const std::int64_t all = threads_ * kMaxBlocks;
    const Var *turn = part(0), *block = part(1), *thread = part(2);
    const Expr* index = add(ctx_, add(ctx_, mul(ctx_, turn, lit(all)), mul(ctx_, block, lit(threads_))), thread);
    const Stmt* turns = ctx_.for_stmt(turn, lit(0), times(all), ForKind::Serial, body(index, guard(index, all)));
    return thread_loop(block, lit(kMaxBlocks), kBlockIdxX, thread_loop(thread, lit(threads_), kThreadIdxX, turns));
  }

  const Stmt* inner(const GpuNest& nest, const std::vector<const ForStmt*>& spatial,
                    const std::vector<const ForStmt*>& rest, const Expr* index, const Expr* in_range) {
    VarMap values;
    const DType dtype = index->dtype();
    bool outermost = true;
    for (const ForStmt* f : spatial) {
      if (is_const(f->extent, 1)) {
        values[f->var] = ctx_.int_imm(f->var->dtype(), 0);
        continue;
      }
      const Expr* stride = inner_elements(spatial, f, dtype);
      const Expr* part = outermost ? index : floor_mod(ctx_, index, mul(ctx_, cast_to(ctx_, dtype, f->extent), stride));
      outermost = false;
      values[f->var] = cast_to(ctx_, f->var->dtype(), floor_div(ctx_, part, stride));
    }
    std::vector<const Expr*> axes;
    for (const Expr* v : nest.realize->iter_values) axes.push_back(substitute(ctx_, v, values));
    const Expr* predicate = substitute(ctx_, nest.realize->predicate, values);
    if (in_range) predicate = logical_and(ctx_, predicate, in_range);
    const Stmt* s = ctx_.realize(axes, predicate, nest.realize->block);
    for (std::size_t i = rest.size(); i-- > 0;)
      s = ctx_.for_stmt(rest[i]->var, rest[i]->min, rest[i]->extent, ForKind::Serial, s);
    return s;
  }

  // The number of elements in the loops inside `f`.
  const Expr* inner_elements(const std::vector<const ForStmt*>& spatial, const ForStmt* f, DType dtype) {
    const Expr* product = ctx_.int_imm(dtype, 1);
    for (std::size_t i = spatial.size(); i-- > 0 && spatial[i] != f;)
      product = mul(ctx_, cast_to(ctx_, dtype, spatial[i]->extent), product);
    return product;
  }

  std::int64_t threads_;
};

}  // namespace

Result<const Module*> default_gpu_schedule(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    if (is_set(f->attrs, attr_name::IsScheduled)) return f;
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    const PrimFunc* made = f;
    const auto* root = as<SBlockRealize>(f->body);
    const bool has_loops = root && !is_leaf_block(root->block);
    if (has_loops && (!target || is_gpu(target)))
      made = with_body(env.ctx, f, ThreadBinder(env.ctx, threads_per_block(target)).rewrite(f->body));
    return with_attr(env.ctx, made, attr_name::IsScheduled, env.ctx.attr(true));
  });
}

}  // namespace rldb::passes
