// ApplyDefaultSchedule: TVM's last rule for kernels on GPUs (dlight's Fallback). Stages that others read are calculated
// where they are read; of each nest that is left, the loops over independent elements are fused and split into blocks
// of as many threads as the device allows, and a reduction becomes a loop inside each thread, its initial value
// written before it.
//
// Each function is marked as scheduled, and those that are marked are left. A function is left as it is where a nest
// is not perfect (TVM cannot normalise it either), or where two blocks would share what one defines. TVM's other rules
// (matrix products, reductions across threads) choose tile sizes by measurements; they are not here.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "rldb/ir/arith.h"
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

constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();

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
    const ForStmt* loop;
    IterVar old;
    const Var* made;
  };
  // Where the axes of a block are: the loops that were around it, and its axes that stay.
  struct Place {
    VarMap values;
    std::vector<Axis> axes;
    const Expr* in_range;  // null: always
  };

  const Stmt* bound(const GpuNest& nest) {
    const SBlock* b = nest.realize->block;
    const bool has_addresses = takes_addresses(nest.realize);
    // Two blocks would share what the block defines.
    if (b->init && (has_addresses || !b->alloc_buffers.empty() || !b->match_buffers.empty())) return nullptr;
    std::vector<Axis> spatial, reduced;
    for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
      const IterVar& v = b->iter_vars[i];
      const ForStmt* loop = nest.loops.empty() ? nullptr : nest.loops[i];
      if (!is_const(v.dom.min, 0)) return nullptr;
      if (is_const(v.dom.extent, 1) && (loop ? is_const(loop->extent, 1) : is_const(nest.realize->iter_values[i], 0))) {
        dropped_[v.var] = ctx_.int_imm(v.var->dtype(), 0);
        if (loop) dropped_[loop->var] = ctx_.int_imm(loop->var->dtype(), 0);
        continue;
      }
      if (!loop || (v.kind != IterKind::Spatial && v.kind != IterKind::Reduce)) return nullptr;
      const Var* made = ctx_.var(fmt::format("v{}", spatial.size() + reduced.size()), v.var->type);
      (v.kind == IterKind::Spatial ? spatial : reduced).push_back({loop, v, made});
    }
    const auto t = index_type(spatial);
    if (!t) return nullptr;
    return in_threads(spatial, *t, [&](const Place& at) {
      return reduced.empty() && !b->init ? block(nest, at, b->body, b->name) : decomposed(nest, reduced, at);
    });
  }

  // Of the fused loop: as wide as the widest axis, and wide enough for every position that is known.
  std::optional<DType> index_type(const std::vector<Axis>& spatial) {
    int bits = threads_ > kMostInt32 ? 64 : 32;
    std::int64_t total = 1;
    for (const Axis& a : spatial) {
      const DType own = a.loop->var->dtype();
      if (own.bits + (own.is_uint() ? 1 : 0) > 32) bits = 64;
      const auto known = const_int(a.loop->extent);
      if (known && __builtin_mul_overflow(total, std::max<std::int64_t>(*known, 1), &total)) return std::nullopt;
    }
    if (__builtin_add_overflow(total, threads_, &total)) return std::nullopt;
    return DType::Int(total > kMostInt32 ? 64 : bits);
  }

  // The initial value, then the loops over what is added to it.
  const Stmt* decomposed(const GpuNest& nest, const std::vector<Axis>& reduced, const Place& at) {
    const SBlock* b = nest.realize->block;
    std::vector<const Stmt*> parts;
    if (b->init) {
      // It belongs to the first element.
      Place first = at;
      for (const Axis& a : reduced) {
        first.values[a.loop->var] = ctx_.int_imm(a.loop->var->dtype(), 0);
        first.values[a.old.var] = ctx_.int_imm(a.old.var->dtype(), 0);
      }
      parts.push_back(block(nest, first, b->init, fmt::format("{}_init", b->name)));
    }
    Place all = at;
    std::vector<const Var*> loops;
    for (const Axis& a : reduced) {
      loops.push_back(ctx_.var(a.loop->var->name, a.loop->var->type));
      all.values[a.loop->var] = loops.back();
      all.axes.push_back(a);
    }
    const Stmt* s = block(nest, all, b->body, fmt::format("{}_update", b->name));
    for (std::size_t i = reduced.size(); i-- > 0;)
      s = ctx_.for_stmt(loops[i], reduced[i].loop->min, reduced[i].loop->extent, ForKind::Serial, s);
    parts.push_back(s);
    return ctx_.seq_stmt(parts);
  }

  // The block with axes of its own.
  const Stmt* block(const GpuNest& nest, const Place& place, const Stmt* body, std::string_view name) {
    const SBlock* b = nest.realize->block;
    VarMap renamed = place.values;
    std::vector<IterVar> axes;
    std::vector<const Expr*> at;
    for (const Axis& a : place.axes) {
      const Var* v = ctx_.var(a.made->name, a.made->type);
      renamed[a.old.var] = v;
      axes.push_back({v, a.old.dom, a.old.kind});
      at.push_back(place.values.at(a.loop->var));
    }
    SBlock fields = *b;
    fields.iter_vars = {};
    fields.init = nullptr;
    fields.body = body;
    // Copied: substitution may give the very node that another block has, too.
    fields = *static_cast<const SBlock*>(substitute(ctx_, static_cast<const Stmt*>(ctx_.sblock(fields)), renamed));
    fields.name = ctx_.str(std::string(name));
    fields.iter_vars = ctx_.list(axes);
    if (!takes_addresses(body)) {
      const Regions regions =
          infer_regions(ctx_, {axes, nullptr, fields.body, fields.alloc_buffers, fields.match_buffers});
      fields.reads = ctx_.list(regions.reads);
      fields.writes = ctx_.list(regions.writes);
    }
    const SBlock* made = ctx_.sblock(fields);
    ctx_.set_origin(made, b);
    const Expr* predicate = substitute(ctx_, nest.realize->predicate, place.values);
    if (predicate != nest.realize->predicate) predicate = Analyzer(ctx_).simplify(predicate);
    if (place.in_range) predicate = logical_and(ctx_, predicate, place.in_range);
    return ctx_.realize(at, predicate, made);
  }

  using Body = std::function<const Stmt*(const Place& at)>;

  const Stmt* in_threads(const std::vector<Axis>& spatial, DType t, const Body& body) {
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
                                      body({places(spatial, index), spatial, in_range}), {}, kThreadIdxX);
    return ctx_.for_stmt(block, ctx_.int_imm(t, 0), blocks, ForKind::ThreadBinding, inner, {}, kBlockIdxX);
  }

  // The value of each loop for a position in the fused one.
  VarMap places(const std::vector<Axis>& spatial, const Expr* index) {
    VarMap values = dropped_;
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
  VarMap dropped_;  // axes and loops whose only value is zero
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
  if (!support::may_rewrite([&] {
        return fmt::format("the loops of {} {} bound to threads", made.size(),
                           made.size() == 1 ? "stage is" : "stages are");
      }))
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
