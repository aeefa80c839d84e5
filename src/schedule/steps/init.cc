// The init of a reduction moved before its outermost reduction loop, so that the hot loop has no test in it. Only where
// the effect is exactly the same: a perfect nest of loops, axes that are those loops, no predicate, and, when spatial
// loops lie inside, elements that are written once each and read nowhere else.
#include <algorithm>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

struct InitReduction {
  std::vector<const ir::ForStmt*> loops;
  std::vector<const ir::ForStmt*> spatial;
  std::unordered_set<const ir::Var*> reduce;  // variables of the reduction loops
  const ir::SBlockRealize* realize = nullptr;
  const ir::SBlock* block = nullptr;
  std::vector<const ir::BufferStore*> inits;
};

bool match_loops(const ir::ForStmt* loop, InitReduction& r) {
  const ir::Stmt* at = loop;
  while (const auto* l = as<ir::ForStmt>(at)) {
    if (l->step || l->for_kind == ir::ForKind::ThreadBinding || r.loops.size() == 32) return false;
    // Bounds of loops inside may not move with the loops above them.
    for (const ir::ForStmt* outer : r.loops)
      if (mentions(l->min, outer->var) || mentions(l->extent, outer->var)) return false;
    r.loops.push_back(l);
    at = l->body;
  }
  r.realize = as<ir::SBlockRealize>(at);
  if (!r.realize || !r.realize->block->init || !ir::is_const(r.realize->predicate, 1)) return false;
  r.block = r.realize->block;
  return r.block->alloc_buffers.empty() && r.block->match_buffers.empty();
}

// Reduction axes are loops with the axis's start; no other axis moves with them.
bool match_axes(const ir::ForStmt* loop, InitReduction& r) {
  const ir::SBlock* b = r.block;
  for (std::size_t i = 0; i < b->iter_vars.size(); ++i) {
    if (b->iter_vars[i].kind != ir::IterKind::Reduce) continue;
    const auto* v = as<ir::Var>(r.realize->iter_values[i]);
    if (!v || !r.reduce.insert(v).second) return false;
    const auto it = std::find_if(r.loops.begin(), r.loops.end(), [&](const ir::ForStmt* l) { return l->var == v; });
    if (it == r.loops.end() || !ir::expr_equal((*it)->min, b->iter_vars[i].dom.min)) return false;
  }
  if (!r.reduce.contains(loop->var)) return false;
  for (std::size_t i = 0; i < b->iter_vars.size(); ++i)
    for (const ir::Var* v : r.reduce)
      if (b->iter_vars[i].kind != ir::IterKind::Reduce && mentions(r.realize->iter_values[i], v)) return false;
  for (const ir::ForStmt* l : r.loops)
    if (!r.reduce.contains(l->var)) r.spatial.push_back(l);
  return true;
}

bool match_inits(InitReduction& r) {
  bool simple = true;
  ir::walk(r.block->init, [&](const ir::Node* n) {
    if (const auto* s = as<ir::BufferStore>(n))
      r.inits.push_back(s);
    else if ((as<ir::Stmt>(n) && !as<ir::SeqStmt>(n)) || as<ir::BufferLoad>(n))
      simple = false;
    return simple;
  });
  return simple && !r.inits.empty();
}

// With spatial loops inside: each element is written once, and nothing else in its buffer is accessed.
bool separate(const InitReduction& r) {
  for (const ir::ForStmt* s : r.spatial) {
    const ir::Var* axis = nullptr;
    for (std::size_t i = 0; i < r.block->iter_vars.size(); ++i)
      if (r.realize->iter_values[i] == s->var) axis = r.block->iter_vars[i].var;
    for (const ir::BufferStore* st : r.inits)
      if (!axis || std::find(st->indices.begin(), st->indices.end(), axis) == st->indices.end()) return false;
  }
  const auto same_place = [&](const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices) {
    for (const ir::BufferStore* st : r.inits) {
      if (st->buffer->data != buffer->data) continue;
      if (st->buffer != buffer || st->indices.size() != indices.size()) return false;
      for (std::size_t i = 0; i < indices.size(); ++i)
        if (!ir::expr_equal(indices[i], st->indices[i])) return false;
    }
    return true;
  };
  bool good = true;
  ir::walk(r.block->body, [&](const ir::Node* n) {
    if (const auto* l = as<ir::BufferLoad>(n)) good = good && same_place(l->buffer, l->indices);
    if (const auto* s = as<ir::BufferStore>(n)) good = good && same_place(s->buffer, s->indices);
    return good;
  });
  return good;
}

class InitWriter {
 public:
  InitWriter(ir::Context& ctx, const InitReduction& r) : build_(ctx), r_(r) {}

  const ir::Stmt* run(const ir::ForStmt* loop) {
    const ir::Stmt* init = init_nest();
    // No iteration, no init.
    const ir::Expr* some = nullptr;
    for (const ir::ForStmt* l : r_.loops)
      if (r_.reduce.contains(l->var) && !runs(l->extent))
        some = build_.both(some, ir::compare(build_.ctx, ir::BinaryKind::GT, l->extent, build_.lit(l->extent, 0)));
    if (some) init = build_.ctx.if_stmt(some, init);
    return build_.seq({init, update_nest(loop)});
  }

 private:
  // The same spatial loops around a block of its own, with new variables.
  const ir::Stmt* init_nest() {
    ir::VarMap loops;
    std::vector<const ir::Var*> vars;
    for (const ir::ForStmt* l : r_.spatial) {
      vars.push_back(build_.ctx.var(l->var->name, l->var->type));
      loops[l->var] = vars.back();
    }
    const ir::Stmt* body = init_block(loops);
    for (std::size_t i = r_.spatial.size(); i-- > 0;) {
      const ir::ForStmt* l = r_.spatial[i];
      body = build_.ctx.for_stmt(vars[i], l->min, l->extent, l->for_kind, body, l->annotations);
    }
    return body;
  }

  const ir::Stmt* init_block(const ir::VarMap& loops) {
    ir::Context& ctx = build_.ctx;
    ir::VarMap axes;
    std::vector<ir::IterVar> spatial;
    std::vector<const ir::Expr*> values;
    for (std::size_t i = 0; i < r_.block->iter_vars.size(); ++i) {
      const ir::IterVar& axis = r_.block->iter_vars[i];
      if (axis.kind == ir::IterKind::Reduce) {
        axes[axis.var] = axis.dom.min;
        continue;
      }
      spatial.push_back({ctx.var(axis.var->name, axis.var->type), axis.dom, axis.kind});
      axes[axis.var] = spatial.back().var;
      values.push_back(ir::substitute(ctx, r_.realize->iter_values[i], loops));
    }
    ir::SBlock made{};
    made.name = ctx.str(std::string(r_.block->name) + "_init");
    made.iter_vars = ctx.list(spatial);
    made.writes = regions(r_.block->writes, axes);
    made.body = ir::substitute(ctx, r_.block->init, axes);
    const ir::SBlock* block = ctx.sblock(made);
    ctx.set_origin(block, r_.block);
    return ctx.realize(values, nullptr, block);
  }

  ir::Span<ir::BufferRegion> regions(ir::Span<ir::BufferRegion> from, const ir::VarMap& axes) {
    std::vector<ir::BufferRegion> out;
    for (const ir::BufferRegion& r : from) {
      std::vector<ir::Range> ranges;
      for (const ir::Range& x : r.region)
        ranges.push_back({ir::substitute(build_.ctx, x.min, axes), ir::substitute(build_.ctx, x.extent, axes)});
      out.push_back({r.buffer, build_.ctx.list(ranges)});
    }
    return build_.ctx.list(out);
  }

  // The nest without the init; it now reads the init's results from outside.
  const ir::Stmt* update_nest(const ir::ForStmt* loop) {
    ir::Context& ctx = build_.ctx;
    ir::SBlock made = *r_.block;
    made.name = ctx.str(std::string(r_.block->name) + "_update");
    made.init = nullptr;
    made.annotations = ctx.with_attr(r_.block->annotations, attr_name::FpContract, ctx.attr(1));
    std::vector<ir::BufferRegion> reads;
    for (const ir::BufferRegion& w : r_.block->writes)
      if (std::none_of(made.reads.begin(), made.reads.end(), [&](const auto& r) { return r.buffer == w.buffer; }))
        reads.push_back(w);
    reads.insert(reads.end(), made.reads.begin(), made.reads.end());
    made.reads = ctx.list(reads);
    const ir::SBlock* block = ctx.sblock(made);
    ctx.set_origin(block, r_.block);
    const ir::Stmt* out = ctx.realize(r_.realize->iter_values, r_.realize->predicate, block);
    for (std::size_t i = r_.loops.size(); i-- > 0;) {
      const ir::ForStmt* l = r_.loops[i];
      out = ctx.for_stmt(l->var, l->min, l->extent, l->for_kind, out, l->annotations, l->thread_tag, l->step);
      ctx.set_origin(out, l);
    }
    ctx.set_origin(out, loop);
    return out;
  }

  Build build_;
  const InitReduction& r_;
};

}  // namespace

std::vector<Stage> hoist_init(const Scene& scene, const ir::ForStmt* loop) {
  InitReduction r;
  if (!match_loops(loop, r) || !match_axes(loop, r) || !match_inits(r)) return {};
  if (!r.spatial.empty() && !separate(r)) return {};
  return {{StepId::HoistInit, InitWriter(scene.ctx, r).run(loop)}};
}

}  // namespace rldb::schedule
