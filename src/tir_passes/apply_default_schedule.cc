// ApplyDefaultSchedule: TVM's last rule for kernels on GPUs (dlight's Fallback). Stages that others read are calculated
// where they are read; of each nest that is left, the loops over independent elements are fused and split into blocks
// of as many threads as the device allows, and a reduction becomes a loop inside each thread, its initial value
// written before it.
//
// Each function is marked as scheduled, and those that are marked are left. A function is left as it is where a nest
// is not perfect: TVM cannot normalise it either. TVM's other rules (matrix products, reductions across threads) choose
// tile sizes by measurements; they are not here.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/tir_passes/pass_functions.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"
#include "tir_passes/gpu_nest.h"
#include "tir_passes/inline_stages.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Fallback {
 public:
  Fallback(Context& ctx, std::int64_t threads) : ctx_(ctx), threads_(threads) {}

  // The statement of one nest or extern; null: it is of another form.
  const Stmt* scheduled(const Stmt* s) {
    GpuNest nest;
    if (const auto* r = as<SBlockRealize>(s); r && r->block->iter_vars.empty() && is_leaf_block(r->block)) return s;
    if (opens_threads(s)) return s;
    return find_gpu_nest(s, nest) ? bound(nest) : nullptr;
  }

 private:
  struct Axis {
    const ForStmt* loop;  // null: the block has no loop
    IterVar old;
    const Var* made;  // null: its only value is zero
  };

  const Stmt* bound(const GpuNest& nest) {
    const SBlock* b = nest.realize->block;
    std::vector<Axis> spatial, reduced;
    for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
      const IterVar& v = b->iter_vars[i];
      Axis axis{i < nest.loops.size() ? nest.loops[i] : nullptr, v, nullptr};
      if (!is_const(v.dom.extent, 1))
        axis.made = ctx_.var(fmt::format("v{}", spatial.size() + reduced.size()), v.var->type);
      if (axis.made) (v.kind == IterKind::Spatial ? spatial : reduced).push_back(axis);
      if (!axis.made) zero_[v.var] = ctx_.int_imm(v.var->dtype(), 0);
    }
    return in_threads(spatial, [&](const VarMap& values, const Expr* in_range) {
      return reduced.empty() ? block(nest, spatial, {}, values, in_range, b->body, nullptr, b->name)
                             : decomposed(nest, spatial, reduced, values, in_range);
    });
  }

  // The initial value, then the loops over what is added to it.
  const Stmt* decomposed(const GpuNest& nest, const std::vector<Axis>& spatial, const std::vector<Axis>& reduced,
                         const VarMap& values, const Expr* in_range) {
    const SBlock* b = nest.realize->block;
    std::vector<const Stmt*> parts;
    if (b->init)
      parts.push_back(block(nest, spatial, {}, values, in_range, b->init, nullptr, fmt::format("{}_init", b->name)));
    VarMap all = values;
    std::vector<const Var*> loops;
    for (const Axis& a : reduced) {
      loops.push_back(ctx_.var(a.loop->var->name, a.loop->var->type));
      all[a.loop->var] = loops.back();
    }
    const Stmt* s = block(nest, spatial, reduced, all, in_range, b->body, nullptr, fmt::format("{}_update", b->name));
    for (std::size_t i = reduced.size(); i-- > 0;)
      s = ctx_.for_stmt(loops[i], reduced[i].loop->min, reduced[i].loop->extent, ForKind::Serial, s);
    parts.push_back(s);
    return ctx_.seq_stmt(parts);
  }

  // The block with axes of its own; `values` of the loops that were around it.
  const Stmt* block(const GpuNest& nest, const std::vector<Axis>& spatial, const std::vector<Axis>& reduced,
                    const VarMap& values, const Expr* in_range, const Stmt* body, const Stmt* init,
                    std::string_view name) {
    const SBlock* b = nest.realize->block;
    VarMap renamed = zero_;
    std::vector<IterVar> axes;
    std::vector<const Expr*> at;
    for (const std::vector<Axis>* list : {&spatial, &reduced})
      for (const Axis& a : *list) {
        const Var* v = ctx_.var(a.made->name, a.made->type);
        renamed[a.old.var] = v;
        axes.push_back({v, a.old.dom, a.old.kind});
        at.push_back(a.loop ? values.at(a.loop->var) : a.old.dom.min);
      }
    const Stmt* moved = substitute(ctx_, body, renamed);
    const Regions regions = infer_regions(ctx_, {axes, init, moved, {}, {}});
    SBlock fields = *b;
    fields.name = ctx_.str(std::string(name));
    fields.iter_vars = ctx_.list(axes);
    fields.reads = ctx_.list(regions.reads);
    fields.writes = ctx_.list(regions.writes);
    fields.init = init;
    fields.body = moved;
    const SBlock* made = ctx_.sblock(fields);
    ctx_.set_origin(made, b);
    const Expr* predicate = substitute(ctx_, nest.realize->predicate, values);
    if (in_range) predicate = logical_and(ctx_, predicate, in_range);
    return ctx_.realize(at, predicate, made);
  }

  using Body = std::function<const Stmt*(const VarMap& values, const Expr* in_range)>;

  const Stmt* in_threads(const std::vector<Axis>& spatial, const Body& body) {
    const DType t = spatial.empty() ? DType::Int(32) : spatial[0].old.var->dtype();
    std::string name = spatial.empty() ? "u" : "";
    const Expr* total = ctx_.int_imm(t, 1);
    for (const Axis& a : spatial) {
      name += (name.empty() ? "" : "_") + std::string(a.loop->var->name);
      total = mul(ctx_, total, cast_to(ctx_, t, a.loop->extent));
    }
    const Expr* size = ctx_.int_imm(t, threads_);
    const Var* block = ctx_.var(name + "_fused_0", ctx_.prim(t));
    const Var* thread = ctx_.var(name + "_fused_1", ctx_.prim(t));
    const Expr* index = add(ctx_, mul(ctx_, block, size), thread);
    const auto known = const_int(total);
    const Expr* in_range = known && *known % threads_ == 0 ? nullptr : compare(ctx_, BinaryKind::LT, index, total);
    const Expr* blocks = floor_div(ctx_, add(ctx_, total, ctx_.int_imm(t, threads_ - 1)), size);
    const Stmt* inner = ctx_.for_stmt(thread, ctx_.int_imm(t, 0), size, ForKind::ThreadBinding,
                                      body(places(spatial, index), in_range), {}, kThreadIdxX);
    return ctx_.for_stmt(block, ctx_.int_imm(t, 0), blocks, ForKind::ThreadBinding, inner, {}, kBlockIdxX);
  }

  // The value of each loop for a position in the fused one.
  VarMap places(const std::vector<Axis>& spatial, const Expr* index) {
    VarMap values;
    const Expr* stride = ctx_.int_imm(index->dtype(), 1);
    for (std::size_t i = spatial.size(); i-- > 0;) {
      const ForStmt* f = spatial[i].loop;
      const Expr* extent = cast_to(ctx_, index->dtype(), f->extent);
      const Expr* part = i == 0 ? index : floor_mod(ctx_, index, mul(ctx_, extent, stride));
      values[f->var] = cast_to(ctx_, f->var->dtype(), floor_div(ctx_, part, stride));
      stride = mul(ctx_, extent, stride);
    }
    return values;
  }

  Context& ctx_;
  std::int64_t threads_;
  VarMap zero_;
};

// The function with its nests bound to threads; the function itself if one cannot be.
const PrimFunc* fallback(Context& ctx, const PrimFunc* f, std::int64_t threads) {
  const auto* realize = as<SBlockRealize>(f->body);
  if (!realize || !realize->block->iter_vars.empty() || is_leaf_block(realize->block)) return f;
  const SBlock* root = inline_stages(ctx, realize->block);
  const auto* seq = as<SeqStmt>(root->body);
  const std::vector<const Stmt*> stages =
      seq ? std::vector<const Stmt*>(seq->stmts.begin(), seq->stmts.end()) : std::vector<const Stmt*>{root->body};
  std::vector<const Stmt*> made;
  for (const Stmt* s : stages) {
    made.push_back(Fallback(ctx, threads).scheduled(s));
    if (!made.back()) return f;
  }
  if (!support::may_rewrite([&] { return fmt::format("the loops of {} stages are bound to threads", made.size()); }))
    return f;
  SBlock fields = *root;
  fields.body = ctx.seq_stmt(made);
  const Stmt* body = ctx.realize(realize->iter_values, realize->predicate, ctx.sblock(fields));
  return with_attr(ctx, with_body(ctx, f, body), attr_name::IsScheduled, ctx.attr(true));
}

// The target of the first device of the module that is a GPU, or null.
const Attr* gpu_of(Context& ctx, const Module* module) {
  for (const VDevice* d : module->vdevices) {
    const Attr* target = d->target ? d->target : ctx.attr(d->target_kind);
    if (is_gpu(target)) return target;
  }
  return nullptr;
}

}  // namespace

Result<const Module*> apply_default_schedule(PassEnv& env, const Module* module, const NoOptions&) {
  const Attr* device = gpu_of(env.ctx, module);
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    if (is_set(f->attrs, attr_name::IsScheduled)) return f;
    const Attr* own = find_attr(f->attrs, kTargetAttr);
    if (own && !is_gpu(own)) return f;
    return fallback(env.ctx, f, threads_per_block(own ? own : device));
  });
}

}  // namespace rldb::passes
