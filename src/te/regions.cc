// infer_regions: what a block reads and writes, from its accesses.
#include <algorithm>

#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/te/create_prim_func.h"

namespace rldb::te {
namespace {

using ir::BinaryKind;
using ir::Stmt;

// Inclusive; null: nothing is known of that end.
struct Interval {
  const Expr* min = nullptr;
  const Expr* max = nullptr;
  bool is_point() const { return min && min == max; }
};

struct Access {
  const ir::Buffer* buffer;
  std::vector<Interval> dims;
};

class Detector {
 public:
  Detector(ir::Context& ctx, std::span<const ir::IterVar> axes) : ctx_(ctx), ana_(ctx) {
    for (const ir::IterVar& a : axes) ana_.bind_range(a.var, a.dom);
  }

  void stmt(const Stmt* s);
  void expr(const Expr* e);
  void skip(const ir::Buffer* b) { local_.push_back(b); }

  std::vector<Access> reads;
  std::vector<Access> writes;

  ir::BufferRegion region(const Access& a);

 private:
  void touch(std::vector<Access>& where, const ir::Buffer* b, std::vector<Interval> dims);
  void touch_point(std::vector<Access>& where, const ir::Buffer* b, std::span<const Expr* const> indices);
  void touch_block(const ir::SBlockRealize* r);
  Interval eval(const Expr* e);
  Interval eval_binary(const ir::BinaryExpr* b);
  Interval join(const Interval& a, const Interval& b);
  bool mentions_loop(const Expr* e);

  ir::Context& ctx_;
  ir::Analyzer ana_;
  std::unordered_map<const ir::Var*, Interval> loops_;
  ir::VarMap lets_;
  std::vector<const ir::Buffer*> local_;
};

bool Detector::mentions_loop(const Expr* e) {
  std::vector<const ir::Var*> vars;
  ir::collect_vars(e, vars);
  return std::any_of(vars.begin(), vars.end(), [&](const ir::Var* v) { return loops_.count(v) != 0; });
}

// Holds a part of whose value nothing is assumed: a call, or a number made of a float.
bool has_opaque_part(const Expr* e) {
  bool found = false;
  ir::walk(e, [&](const ir::Node* n) {
    if (ir::isa<ir::BufferLoad>(n)) return false;
    const auto* c = ir::as<ir::CastExpr>(n);
    if (ir::isa<ir::Call>(n) || (c && c->value->dtype().is_float())) found = true;
    return !found;
  });
  return found;
}

Interval Detector::eval(const Expr* e) {
  bool opaque = has_opaque_part(e);
  if (!opaque && (loops_.empty() || !mentions_loop(e))) return {e, e};
  if (const auto* v = ir::as<ir::Var>(e)) return loops_.at(v);
  if (const auto* b = ir::as<ir::BinaryExpr>(e)) return eval_binary(b);
  const auto* c = ir::as<ir::CastExpr>(e);
  if (c && !c->value->dtype().is_float()) {
    Interval i = eval(c->value);
    if (i.min) i.min = ir::cast_to(ctx_, c->dtype(), i.min);
    if (i.max) i.max = ir::cast_to(ctx_, c->dtype(), i.max);
    return i;
  }
  return {};
}

Interval Detector::eval_binary(const ir::BinaryExpr* b) {
  Interval x = eval(b->a);
  Interval y = eval(b->b);
  auto both = [&](const Expr* p, const Expr* q, auto f) -> const Expr* { return p && q ? f(ctx_, p, q) : nullptr; };
  auto constant = ir::const_int(b->b);
  auto non_negative = [&](const Expr* e) {
    return ana_.prove(ir::compare(ctx_, BinaryKind::GE, e, ctx_.int_imm(e->dtype(), 0)));
  };
  if (b->kind == BinaryKind::Add) return {both(x.min, y.min, ir::add), both(x.max, y.max, ir::add)};
  if (b->kind == BinaryKind::Sub) return {both(x.min, y.max, ir::sub), both(x.max, y.min, ir::sub)};
  // One known side bounds a minimum from above and a maximum from below.
  auto either = [&](const Expr* p, const Expr* q, auto f) { return p && q ? f(ctx_, p, q) : p ? p : q; };
  if (b->kind == BinaryKind::Min) return {both(x.min, y.min, ir::min), either(x.max, y.max, ir::min)};
  if (b->kind == BinaryKind::Max) return {either(x.min, y.min, ir::max), both(x.max, y.max, ir::max)};
  if (b->kind == BinaryKind::Mul) {
    if (y.is_point() && non_negative(y.min)) return {both(x.min, y.min, ir::mul), both(x.max, y.min, ir::mul)};
    if (y.is_point() && constant) return {both(x.max, y.min, ir::mul), both(x.min, y.min, ir::mul)};
    if (x.is_point() && non_negative(x.min)) return {both(x.min, y.min, ir::mul), both(x.min, y.max, ir::mul)};
  }
  if (b->kind == BinaryKind::FloorDiv && constant && *constant > 0)
    return {both(x.min, y.min, ir::floor_div), both(x.max, y.min, ir::floor_div)};
  if (b->kind == BinaryKind::FloorMod && y.is_point())
    return {ctx_.int_imm(b->dtype(), 0), ir::sub(ctx_, y.min, ctx_.int_imm(b->dtype(), 1))};
  return {};
}

Interval Detector::join(const Interval& a, const Interval& b) {
  if (a.is_point() && b.is_point() &&
      (a.min == b.min || ir::expr_equal(a.min, b.min) || ana_.prove_equal(a.min, b.min)))
    return a;
  if (!a.min || !a.max || !b.min || !b.max) return {};
  auto pick = [&](const Expr* x, const Expr* y, BinaryKind op) {
    if (ana_.prove(ir::compare(ctx_, BinaryKind::LE, x, y))) return op == BinaryKind::Min ? x : y;
    if (ana_.prove(ir::compare(ctx_, BinaryKind::LE, y, x))) return op == BinaryKind::Min ? y : x;
    return op == BinaryKind::Min ? ir::min(ctx_, x, y) : ir::max(ctx_, x, y);
  };
  return {pick(a.min, b.min, BinaryKind::Min), pick(a.max, b.max, BinaryKind::Max)};
}

void Detector::touch(std::vector<Access>& where, const ir::Buffer* b, std::vector<Interval> dims) {
  if (std::find(local_.begin(), local_.end(), b) != local_.end()) return;
  for (Access& a : where) {
    if (a.buffer != b) continue;
    for (std::size_t i = 0; i < a.dims.size() && i < dims.size(); ++i) a.dims[i] = join(a.dims[i], dims[i]);
    return;
  }
  where.push_back({b, std::move(dims)});
}

void Detector::touch_point(std::vector<Access>& where, const ir::Buffer* b, std::span<const Expr* const> indices) {
  std::vector<Interval> dims;
  for (const Expr* e : indices) {
    if (!lets_.empty()) e = ir::substitute(ctx_, e, lets_);
    if (const auto* r = ir::as<ir::Ramp>(e)) {
      const Expr* last =
          ir::add(ctx_, r->base, ir::mul(ctx_, r->stride, ir::sub(ctx_, r->lanes, ctx_.int_imm(r->lanes->dtype(), 1))));
      dims.push_back(join(eval(r->base), eval(last)));
    } else {
      dims.push_back(eval(e));
    }
  }
  touch(where, b, std::move(dims));
}

void Detector::touch_block(const ir::SBlockRealize* r) {
  ir::VarMap map = lets_;
  for (std::size_t i = 0; i < r->iter_values.size(); ++i) map[r->block->iter_vars[i].var] = r->iter_values[i];
  auto add = [&](std::vector<Access>& where, const ir::BufferRegion& region) {
    std::vector<Interval> dims;
    for (const ir::Range& range : region.region) {
      const Expr* min = ir::substitute(ctx_, range.min, map);
      const Expr* extent = ir::substitute(ctx_, range.extent, map);
      Interval low = eval(min);
      if (ir::is_const(extent, 1)) {
        dims.push_back(low);
        continue;
      }
      Interval high = eval(ir::sub(ctx_, ir::add(ctx_, min, extent), ctx_.int_imm(extent->dtype(), 1)));
      dims.push_back({low.min, high.max});
    }
    touch(where, region.buffer, std::move(dims));
  };
  for (const Expr* v : r->iter_values) expr(v);
  expr(r->predicate);
  for (const auto& region : r->block->reads) add(reads, region);
  for (const auto& region : r->block->writes) add(writes, region);
}

void Detector::expr(const Expr* e) {
  // The load before what its indices load.
  ir::walk(e, [&](const ir::Node* n) {
    if (const auto* load = ir::as<ir::BufferLoad>(n)) touch_point(reads, load->buffer, load->indices);
    return true;
  });
}

void Detector::stmt(const Stmt* s) {
  if (!s) return;
  if (const auto* seq = ir::as<ir::SeqStmt>(s)) {
    for (const Stmt* part : seq->stmts) stmt(part);
  } else if (const auto* store = ir::as<ir::BufferStore>(s)) {
    touch_point(writes, store->buffer, store->indices);
    expr(store->value);
    for (const Expr* i : store->indices) expr(i);
    if (store->predicate) expr(store->predicate);
  } else if (const auto* loop = ir::as<ir::ForStmt>(s)) {
    expr(loop->min);
    expr(loop->extent);
    Interval low = eval(loop->min);
    Interval high = eval(ir::sub(ctx_, ir::add(ctx_, loop->min, loop->extent), ctx_.int_imm(loop->extent->dtype(), 1)));
    ana_.bind_range(loop->var, {loop->min, loop->extent});
    loops_[loop->var] = {low.min, high.max};
    stmt(loop->body);
  } else if (const auto* branch = ir::as<ir::IfThenElse>(s)) {
    expr(branch->cond);
    stmt(branch->then_case);
    stmt(branch->else_case);
  } else if (const auto* w = ir::as<ir::WhileStmt>(s)) {
    expr(w->cond);
    stmt(w->body);
  } else if (const auto* a = ir::as<ir::AttrStmt>(s)) {
    expr(a->value);
    stmt(a->body);
  } else if (const auto* b = ir::as<ir::BindStmt>(s)) {
    expr(b->value);
    lets_[b->var] = lets_.empty() ? b->value : ir::substitute(ctx_, b->value, lets_);
  } else if (const auto* ev = ir::as<ir::Evaluate>(s)) {
    expr(ev->value);
  } else if (const auto* as = ir::as<ir::AssertStmt>(s)) {
    expr(as->cond);
  } else if (const auto* alloc = ir::as<ir::AllocBuffer>(s)) {
    skip(alloc->buffer);
  } else if (const auto* decl = ir::as<ir::DeclBuffer>(s)) {
    skip(decl->buffer);
  } else if (const auto* r = ir::as<ir::SBlockRealize>(s)) {
    touch_block(r);
  }
}

ir::BufferRegion Detector::region(const Access& a) {
  std::vector<ir::Range> ranges;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    const Interval& d = a.dims[i];
    if (d.is_point()) {
      ranges.push_back({d.min, ctx_.int_imm(d.min->dtype(), 1)});
    } else if (d.min && d.max) {
      const Expr* min = ana_.simplify(d.min);
      const Expr* extent = ana_.simplify(ir::add(ctx_, ir::sub(ctx_, d.max, d.min), ctx_.int_imm(d.max->dtype(), 1)));
      ranges.push_back({min, extent});
    } else {
      ranges.push_back({ctx_.int_imm(a.buffer->shape[i]->dtype(), 0), a.buffer->shape[i]});
    }
  }
  return {a.buffer, ctx_.list(ranges)};
}

}  // namespace

Regions infer_regions(ir::Context& ctx, std::span<const ir::IterVar> iter_vars, const ir::Stmt* init,
                      const ir::Stmt* body, std::span<const ir::Buffer* const> local_buffers) {
  Detector d(ctx, iter_vars);
  for (const ir::Buffer* b : local_buffers) d.skip(b);
  d.stmt(init);
  d.stmt(body);
  Regions out;
  for (const Access& a : d.writes) out.writes.push_back(d.region(a));
  for (const Access& a : d.reads) {
    // What a reduction updates is not an input of it.
    bool updated =
        init && std::any_of(d.writes.begin(), d.writes.end(), [&](const Access& w) { return w.buffer == a.buffer; });
    if (!updated) out.reads.push_back(d.region(a));
  }
  return out;
}

}  // namespace rldb::te
