// Which nests get which schedule, in what order, and whether the result is kept.
#include "rldb/schedule/schedule.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <utility>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/bounds.h"
#include "rldb/schedule/step_id.h"
#include "rldb/schedule/target.h"
#include "schedule/steps/contract/contraction.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

Scene scene_of(ir::Context& ctx, const ir::PrimFunc* f, const Options& options, const Target& target) {
  Scene s{ctx, target, is_noalias(f), options.record, {}, {}, {}};
  for (const ir::PrimParam& p : f->params) {
    if (!p.buffer) continue;
    for (const ir::Expr* d : p.buffer->shape)
      if (const auto* v = as<ir::Var>(d))
        s.dims.insert(v);
      else if (!as<ir::IntImm>(d))
        s.extents.push_back(d);
  }
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* b = as<ir::SBlock>(n))
      for (const ir::MatchBufferRegion& m : b->match_buffers) s.views.insert(m.buffer);
    return as<ir::Stmt>(n) != nullptr;
  });
  return s;
}

namespace {

constexpr StepInfo kSteps[] = {
#define RLDB_STEP(Id, Name, Doc) {StepId::Id, Name, Doc},
#include "rldb/schedule/step.def"
};

struct Scheduled {
  const ir::ForStmt* loop;
  std::string_view about;
  std::vector<Stage> stages;
};

// The nests that get a schedule, outermost first. In those that are `barred` only the init is hoisted.
class Finder : public ir::Rewriter {
 public:
  Finder(const Scene& scene, const BoundsFacts* facts, const std::unordered_set<const ir::ForStmt*>& barred)
      : Rewriter(scene.ctx), scene_(scene), facts_(facts), barred_(barred) {}
  std::vector<Scheduled> found;

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override { return e; }
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    const auto* loop = as<ir::ForStmt>(s);
    if (!loop) return Rewriter::visit_stmt(s);
    const bool outer = std::exchange(only_init_, only_init_ || barred_.contains(loop));
    if (!find(loop)) Rewriter::visit_stmt(s);
    only_init_ = outer;
    return s;
  }

 private:
  bool find(const ir::ForStmt* loop) {
    std::vector<Stage> stages;
    // Scans are in bounds: the match proves it.
    if (!only_init_) stages = schedule_scan(scene_, loop);
    if (stages.empty() && !only_init_ && (!facts_ || facts_->all_proved(loop)))
      for (const auto schedule : {schedule_contraction, schedule_row_lanes, schedule_rows, schedule_reduction,
                                  schedule_transpose, schedule_elementwise, schedule_vectors})
        if (stages.empty()) stages = schedule(scene_, loop);
    if (stages.empty()) stages = hoist_init(scene_, loop);
    if (stages.empty()) return false;
    found.push_back({loop, about(loop), std::move(stages)});
    return true;
  }
  static std::string_view about(const ir::ForStmt* loop) {
    std::string_view name = loop->var->name;
    bool found = false;
    ir::walk(loop, [&](const ir::Node* n) {
      if (const auto* b = as<ir::SBlock>(n); b && !found) name = b->name, found = true;
      if (const auto* st = as<ir::BufferStore>(n); st && !found) name = st->buffer->name, found = true;
      return !found;
    });
    return name;
  }

  const Scene& scene_;
  const BoundsFacts* facts_;
  const std::unordered_set<const ir::ForStmt*>& barred_;
  bool only_init_ = false;
};

class Replace : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;
  std::unordered_map<const ir::Stmt*, const ir::Stmt*> made;

 protected:
  const ir::Expr* visit_expr(const ir::Expr* e) override { return e; }
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    const auto it = made.find(s);
    return it == made.end() ? Rewriter::visit_stmt(s) : it->second;
  }
};

const ir::PrimFunc* marked(ir::Context& ctx, const ir::PrimFunc* f) {
  const ir::PrimFunc* made = ctx.prim_func(f->params, f->ret_type, f->body,
                                           ctx.with_attr(f->attrs, attr_name::IsScheduled, ctx.attr(true)), f->s_tir);
  ctx.set_origin(made, f);
  return made;
}

const ir::PrimFunc* apply(ir::Context& ctx, const ir::PrimFunc* f, const std::vector<Scheduled>& nests) {
  Replace r(ctx);
  for (const Scheduled& n : nests) r.made[n.loop] = n.stages.back().stmt;
  return r.rewrite_prim_func(f);
}

// One function per step: nests before it are done, nests after it are unchanged.
std::vector<Step> steps_of(ir::Context& ctx, const ir::PrimFunc* f, const std::vector<Scheduled>& nests) {
  std::vector<Step> steps;
  Replace r(ctx);
  for (const Scheduled& n : nests)
    for (const Stage& stage : n.stages) {
      r.made[n.loop] = stage.stmt;
      steps.push_back({stage.id, n.about, r.rewrite_prim_func(f)});
    }
  return steps;
}

}  // namespace

std::span<const StepInfo> step_table() { return kSteps; }
const StepInfo& info_of(StepId id) { return kSteps[std::size_t(id)]; }

bool has_flag(ir::Span<ir::NamedAttr> attrs, std::string_view name) {
  const ir::Attr* a = ir::find_attr(attrs, name);
  if (!a) return false;
  const auto* e = a->is(ir::AttrKind::Expr) ? as<ir::IntImm>(a->node) : nullptr;
  return e ? e->value != 0 : a->integer != 0;
}
bool is_scheduled(const ir::PrimFunc* f) {
  return has_flag(f->attrs, attr_name::IsScheduled) || has_flag(f->attrs, attr_name::IsScheduledOld);
}
bool is_noalias(const ir::PrimFunc* f) {
  return has_flag(f->attrs, attr_name::NoAlias) ||
         (!ir::find_attr(f->attrs, attr_name::NoAlias) && has_flag(f->attrs, attr_name::NoAliasOld));
}

unsigned host_vector_bytes() {
#if defined(__x86_64__)
  static const unsigned bytes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
                                    ? 64
                                : __builtin_cpu_supports("avx2") ? 32
                                                                 : 16;
  return bytes;
#else
  return 16;
#endif
}

const Target& host_target() {
  static const Target target = [] {
    Target t{host_vector_bytes(), false, false, false};
#if defined(__x86_64__)
    // Not every compiler has a name for float16: bit 23 of register D (Intel's manual, CPUID, leaf 7).
    unsigned a = 0, b = 0, c = 0, d = 0;
    t.float16 = t.vector_bytes == 64 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 23 & 1);
    t.byte_dots = t.vector_bytes == 64 && __builtin_cpu_supports("avx512vnni");
#endif
    return t;
  }();
  return target;
}

namespace {

// A contraction takes its operands as whole buffers: rows of them must not be computed for it one block at a time.
bool has_contraction(const Scene& scene, const ir::PrimFunc* f) {
  bool found = false;
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* loop = as<ir::ForStmt>(n);
    found = found || (loop && match_contraction(scene, loop));
    return !found;
  });
  return found;
}

// The function with its nests fused, or itself. Where accesses have to be proved, all of them are afterwards.
const ir::PrimFunc* with_nests_fused(ir::Context& ctx, const ir::PrimFunc* f, const Options& options,
                                     const Target& target, std::vector<Step>& steps) {
  for (const auto fuse : {simplify_indices, split_phases, inline_stages, fuse_rows}) {
    std::string_view about;
    const Scene scene = scene_of(ctx, f, options, target);
    if (fuse == fuse_rows && has_contraction(scene, f)) continue;
    const auto fused = fuse(scene, f, about);
    if (!fused) continue;
    const ir::PrimFunc* made = ctx.prim_func(f->params, f->ret_type, fused->stmt, f->attrs, f->s_tir);
    ctx.set_origin(made, f);
    // Simpler indices are the same elements. A read that is left out may be one that faults.
    const auto all_proved = [](const ir::PrimFunc* g) { return prove_bounds(g).all_proved(g->body); };
    if (options.require_proof && fuse != simplify_indices && !(all_proved(made) && all_proved(f))) continue;
    if (options.record) steps.push_back({fused->id, about, made});
    f = made;
  }
  return f;
}

}  // namespace

Result default_schedule(ir::Context& ctx, const ir::PrimFunc* f, const Options& options) {
  if (options.vector_bytes == 0) return default_schedule(ctx, f, options, host_target());
  return default_schedule(ctx, f, options, {options.vector_bytes, false, false, false});
}

Result default_schedule(ir::Context& ctx, const ir::PrimFunc* f, const Options& options, const Target& target) {
  if (is_scheduled(f)) return {f, {}};
  std::vector<Step> steps;
  f = with_nests_fused(ctx, f, options, target, steps);
  const Scene scene = scene_of(ctx, f, options, target);
  const BoundsFacts before = options.require_proof ? prove_bounds(f) : BoundsFacts{};
  std::unordered_set<const ir::ForStmt*> barred;
  const auto find = [&] {
    Finder finder(scene, options.require_proof ? &before : nullptr, barred);
    finder.rewrite(f->body);
    return std::move(finder.found);
  };
  std::vector<Scheduled> nests = find();
  const ir::PrimFunc* made = apply(ctx, f, nests);
  BoundsFacts after;
  if (options.require_proof) {
    // A form that needs bounds tests is worse than the original loops.
    after = prove_bounds(made);
    for (const Scheduled& n : nests)
      if (n.stages.back().id != StepId::HoistInit && !after.all_proved(n.stages.back().stmt)) barred.insert(n.loop);
    if (!barred.empty()) {
      nests = find();
      made = apply(ctx, f, nests);
      after = prove_bounds(made);
    }
  }
  if (options.record)
    for (Step& step : steps_of(ctx, f, nests)) steps.push_back(std::move(step));
  std::string_view about;
  if (const auto parallel = mark_parallel(scene, made->body, options.require_proof ? &after : nullptr, about)) {
    const ir::PrimFunc* whole = ctx.prim_func(made->params, made->ret_type, parallel->stmt, made->attrs, made->s_tir);
    ctx.set_origin(whole, made);
    made = whole;
    if (options.record) steps.push_back({parallel->id, about, made});
  }
  made = marked(ctx, made);
  if (!steps.empty()) steps.back().after = made;
  return {made, std::move(steps)};
}

}  // namespace rldb::schedule
