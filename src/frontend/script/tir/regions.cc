// Read and write regions of a block whose text does not give them, as TVM's script completer infers them: every access
// in the body, relaxed over the loops inside the block; regions of inner blocks with their axes replaced; the union per
// buffer. A buffer that the block writes is no read of it when the block has an init.
#include <algorithm>
#include <unordered_map>

#include "frontend/script/tir/tir.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::frontend::script {

namespace {

// Inclusive bounds of an expression while inner loop variables run.
struct Interval {
  const ir::Expr* min = nullptr;
  const ir::Expr* max = nullptr;  // both null: not known
  bool point() const { return min == max; }
};

using Domains = std::unordered_map<const ir::Var*, Interval>;

class Relaxer {
 public:
  Relaxer(ir::Context& ctx, const Domains& domains) : ctx_(ctx), domains_(domains) {}

  Interval run(const ir::Expr* e) {
    if (!depends(e)) return {e, e};
    if (const auto* v = ir::as<ir::Var>(e)) return domains_.at(v);
    if (const auto* c = ir::as<ir::CastExpr>(e)) {
      const Interval i = run(c->value);
      if (!i.min) return {};
      return {ir::cast_to(ctx_, e->dtype(), i.min), ir::cast_to(ctx_, e->dtype(), i.max)};
    }
    const auto* b = ir::as<ir::BinaryExpr>(e);
    if (!b) return {};
    return binary(b);
  }

 private:
  bool depends(const ir::Expr* e) {
    std::vector<const ir::Var*> vars;
    ir::collect_vars(e, vars);
    for (const ir::Var* v : vars)
      if (domains_.count(v)) return true;
    return false;
  }
  const ir::Expr* make(ir::BinaryKind k, const ir::Expr* a, const ir::Expr* b) {
    auto r = ir::make_binary(ctx_, k, a, b);
    return r.ok() ? *r : nullptr;
  }
  Interval pair(const ir::Expr* min, const ir::Expr* max) { return min && max ? Interval{min, max} : Interval{}; }

  Interval binary(const ir::BinaryExpr* e) {
    const Interval a = run(e->a), b = run(e->b);
    if (!a.min || !b.min) return {};
    using enum ir::BinaryKind;
    switch (e->op()) {
      case Add:
        return pair(make(Add, a.min, b.min), make(Add, a.max, b.max));
      case Sub:
        return pair(make(Sub, a.min, b.max), make(Sub, a.max, b.min));
      case Mul:
      case FloorDiv:
      case Div:
        return scaled(e->op(), a, b);
      case Min:
        return pair(make(Min, a.min, b.min), make(Min, a.max, b.max));
      case Max:
        return pair(make(Max, a.min, b.min), make(Max, a.max, b.max));
      case FloorMod:
        if (const auto m = ir::const_int(b.min); m && *m > 0 && b.point())
          return {ctx_.int_imm(e->dtype(), 0), ctx_.int_imm(e->dtype(), *m - 1)};
        return {};
      case Mod:
      case EQ:
      case NE:
      case LT:
      case LE:
      case GT:
      case GE:
      case And:
      case Or:
        break;
    }
    return {};
  }
  // Times or divided by something fixed.
  Interval scaled(ir::BinaryKind k, Interval a, Interval b) {
    if (k == ir::BinaryKind::Mul && a.point()) std::swap(a, b);
    if (!b.point()) return {};
    ir::Analyzer analyzer(ctx_);
    if (const auto c = ir::const_int(b.min)) {
      if (*c >= 0) return pair(make(k, a.min, b.min), make(k, a.max, b.min));
      return pair(make(k, a.max, b.min), make(k, a.min, b.min));
    }
    // A symbolic factor is a dimension: not negative.
    return pair(make(k, a.min, b.min), make(k, a.max, b.min));
  }

  ir::Context& ctx_;
  const Domains& domains_;
};

struct Touched {
  const ir::Buffer* buffer;
  std::vector<Interval> dims;  // empty intervals: the whole dimension
};

class Detector {
 public:
  explicit Detector(ir::Context& ctx, std::span<const ir::MatchBufferRegion> matches) : ctx_(ctx) {
    for (const auto& m : matches) matches_[m.buffer] = &m;
  }

  void visit(const ir::Stmt* s) {
    if (!s) return;
    switch (s->stmt_kind()) {
      case ir::StmtKind::For: {
        const auto* f = ir::as<ir::ForStmt>(s);
        reads_of(f->min);
        reads_of(f->extent);
        Relaxer relax(ctx_, domains_);
        const Interval lo = relax.run(f->min);
        const ir::Expr* last = ir::sub(ctx_, ir::add(ctx_, f->min, f->extent), ctx_.int_imm(f->extent->dtype(), 1));
        const Interval hi = relax.run(last);
        domains_[f->var] = lo.min && hi.max ? Interval{lo.min, hi.max} : Interval{};
        visit(f->body);
        domains_.erase(f->var);
        return;
      }
      case ir::StmtKind::SBlockRealize:
        return realize(ir::as<ir::SBlockRealize>(s));
      case ir::StmtKind::SBlock:
        return block(ir::as<ir::SBlock>(s), {});
      case ir::StmtKind::BufferStore: {
        const auto* st = ir::as<ir::BufferStore>(s);
        touch(writes, st->buffer, st->indices);
        for (const ir::Expr* i : st->indices) reads_of(i);
        reads_of(st->value);
        if (st->predicate) reads_of(st->predicate);
        return;
      }
      case ir::StmtKind::Seq:
        for (const ir::Stmt* c : ir::as<ir::SeqStmt>(s)->stmts) visit(c);
        return;
      case ir::StmtKind::IfThenElse: {
        const auto* i = ir::as<ir::IfThenElse>(s);
        reads_of(i->cond);
        visit(i->then_case);
        visit(i->else_case);
        return;
      }
      case ir::StmtKind::Bind: {
        const auto* b = ir::as<ir::BindStmt>(s);
        reads_of(b->value);
        if (b->var->dtype().is_integral()) {
          const Interval i = Relaxer(ctx_, domains_).run(b->value);
          domains_[b->var] = i;
        }
        return;
      }
      case ir::StmtKind::AllocBuffer:
        local.push_back(ir::as<ir::AllocBuffer>(s)->buffer);
        return;
      case ir::StmtKind::DeclBuffer:
        local.push_back(ir::as<ir::DeclBuffer>(s)->buffer);
        return;
      case ir::StmtKind::Attr: {
        const auto* a = ir::as<ir::AttrStmt>(s);
        reads_of(a->value);
        if (a->thread_var) {
          const ir::Expr* last = ir::sub(ctx_, a->value, ctx_.int_imm(a->value->dtype(), 1));
          domains_[a->thread_var] = {ctx_.int_imm(a->value->dtype(), 0), last};
        }
        visit(a->body);
        return;
      }
      case ir::StmtKind::While:
        reads_of(ir::as<ir::WhileStmt>(s)->cond);
        visit(ir::as<ir::WhileStmt>(s)->body);
        return;
      case ir::StmtKind::Evaluate:
        return reads_of(ir::as<ir::Evaluate>(s)->value);
      case ir::StmtKind::Assert:
        return reads_of(ir::as<ir::AssertStmt>(s)->cond);
      case ir::StmtKind::Allocate:
      case ir::StmtKind::AllocateConst:
        return;
    }
  }

  std::vector<ir::BufferRegion> finish(const std::vector<Touched>& list,
                                       const std::vector<const ir::Buffer*>& without) {
    std::vector<ir::BufferRegion> out;
    for (const Touched& t : list) {
      if (std::find(without.begin(), without.end(), t.buffer) != without.end()) continue;
      if (std::find(local.begin(), local.end(), t.buffer) != local.end()) continue;
      out.push_back({t.buffer, ctx_.list(ranges_of(t))});
    }
    return out;
  }

  std::vector<Touched> reads, writes;
  std::vector<const ir::Buffer*> local;

 private:
  std::vector<ir::Range> ranges_of(const Touched& t) {
    std::vector<ir::Range> out;
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
      const Interval& d = t.dims[i];
      if (!d.min) {
        const ir::Expr* extent = t.buffer->shape[i];
        out.push_back({ctx_.int_imm(extent->dtype(), 0), extent});
        continue;
      }
      if (d.point()) {
        out.push_back({d.min, ctx_.int_imm(d.min->dtype(), 1)});
        continue;
      }
      const ir::Expr* one = ctx_.int_imm(d.max->dtype(), 1);
      ir::Analyzer analyzer(ctx_);
      const ir::Expr* min = analyzer.simplify(d.min);
      out.push_back({min, analyzer.simplify(ir::add(ctx_, ir::sub(ctx_, d.max, d.min), one))});
    }
    return out;
  }

  void reads_of(const ir::Expr* e) {
    ir::walk(e, [&](const ir::Node* n) {
      if (const auto* l = ir::as<ir::BufferLoad>(n)) touch(reads, l->buffer, l->indices);
      return true;
    });
  }

  void touch(std::vector<Touched>& list, const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices) {
    Touched t{buffer, {}};
    Relaxer relax(ctx_, domains_);
    for (const ir::Expr* i : indices) {
      if (const auto* ramp = ir::as<ir::Ramp>(i)) {
        const Interval b = relax.run(ramp->base);
        const auto lanes = ir::const_int(ramp->lanes), stride = ir::const_int(ramp->stride);
        if (!b.min || !lanes || !stride) {
          t.dims.push_back({});
        } else {
          t.dims.push_back({b.min, ir::add(ctx_, b.max, ctx_.int_imm(b.max->dtype(), (*lanes - 1) * *stride))});
        }
        continue;
      }
      t.dims.push_back(relax.run(i));
    }
    merge(list, std::move(t));
  }

  void touch_region(std::vector<Touched>& list, const ir::BufferRegion& region) {
    Touched t{region.buffer, {}};
    Relaxer relax(ctx_, domains_);
    for (const ir::Range& r : region.region) {
      const Interval lo = relax.run(r.min);
      if (ir::is_const(r.extent, 1)) {
        t.dims.push_back(lo);
        continue;
      }
      const ir::Expr* last = ir::sub(ctx_, ir::add(ctx_, r.min, r.extent), ctx_.int_imm(r.extent->dtype(), 1));
      const Interval hi = relax.run(last);
      t.dims.push_back(lo.min && hi.max ? Interval{lo.min, hi.max} : Interval{});
    }
    merge(list, std::move(t));
  }

  void merge(std::vector<Touched>& list, Touched t) {
    if (const auto it = matches_.find(t.buffer); it != matches_.end()) {
      // An access of a sub-region's buffer is an access of the buffer behind it.
      const ir::MatchBufferRegion* m = it->second;
      Touched outer{m->source.buffer, {}};
      const std::size_t skip = m->source.region.size() - std::min(m->source.region.size(), t.dims.size());
      for (std::size_t i = 0; i < m->source.region.size(); ++i) {
        const ir::Range& r = m->source.region[i];
        if (i < skip || !t.dims[i - skip].min) {
          outer.dims.push_back(
              ir::is_const(r.extent, 1)
                  ? Interval{r.min, r.min}
                  : Interval{r.min, ir::sub(ctx_, ir::add(ctx_, r.min, r.extent), ctx_.int_imm(r.extent->dtype(), 1))});
        } else {
          const Interval& d = t.dims[i - skip];
          const ir::Expr* lo = ir::add(ctx_, r.min, d.min);
          outer.dims.push_back({lo, d.point() ? lo : ir::add(ctx_, r.min, d.max)});
        }
      }
      t = std::move(outer);
    }
    for (Touched& known : list) {
      if (known.buffer != t.buffer || known.dims.size() != t.dims.size()) continue;
      for (std::size_t i = 0; i < t.dims.size(); ++i) unite(known.dims[i], t.dims[i]);
      return;
    }
    list.push_back(std::move(t));
  }

  void unite(Interval& a, const Interval& b) {
    if (!a.min || !b.min) {
      a = {};
      return;
    }
    const bool same_min = ir::expr_equal(a.min, b.min), same_max = ir::expr_equal(a.max, b.max);
    if (same_min && same_max) return;
    ir::Analyzer analyzer(ctx_);
    const auto pick = [&](ir::BinaryKind k, const ir::Expr* x, const ir::Expr* y) -> const ir::Expr* {
      auto m = ir::make_binary(ctx_, k, x, y);
      return m.ok() ? analyzer.simplify(*m) : nullptr;
    };
    const ir::Expr* min = same_min ? a.min : pick(ir::BinaryKind::Min, a.min, b.min);
    const ir::Expr* max = same_max ? a.max : pick(ir::BinaryKind::Max, a.max, b.max);
    a = min && max ? Interval{min, max} : Interval{};
  }

  void realize(const ir::SBlockRealize* r) {
    ir::VarMap map;
    for (std::size_t i = 0; i < r->iter_values.size(); ++i) {
      reads_of(r->iter_values[i]);
      map[r->block->iter_vars[i].var] = r->iter_values[i];
    }
    reads_of(r->predicate);
    block(r->block, map);
  }

  // What an inner block says of itself counts; its body is not looked into.
  void block(const ir::SBlock* b, const ir::VarMap& map) {
    const auto add = [&](std::vector<Touched>& list, const ir::BufferRegion& region) {
      if (std::find(b->alloc_buffers.begin(), b->alloc_buffers.end(), region.buffer) != b->alloc_buffers.end()) return;
      std::vector<ir::Range> ranges;
      for (const ir::Range& r : region.region)
        ranges.push_back({ir::substitute(ctx_, r.min, map), ir::substitute(ctx_, r.extent, map)});
      touch_region(list, {region.buffer, ranges});
    };
    for (const ir::BufferRegion& r : b->reads) add(reads, r);
    for (const ir::BufferRegion& r : b->writes) add(writes, r);
  }

  ir::Context& ctx_;
  Domains domains_;
  std::unordered_map<const ir::Buffer*, const ir::MatchBufferRegion*> matches_;
};

}  // namespace

AccessRegions infer_regions(ir::Context& ctx, const ir::Stmt* body, const ir::Stmt* init,
                            std::span<const ir::Buffer* const> local, std::span<const ir::MatchBufferRegion> matches) {
  Detector d(ctx, matches);
  d.local.assign(local.begin(), local.end());
  d.visit(init);
  d.visit(body);
  AccessRegions out;
  out.writes = d.finish(d.writes, {});
  std::vector<const ir::Buffer*> excluded;
  if (init)
    for (const ir::BufferRegion& w : out.writes) excluded.push_back(w.buffer);
  out.reads = d.finish(d.reads, excluded);
  return out;
}

}  // namespace rldb::frontend::script
