// infer_regions: the reads and writes of a block, from its accesses: intervals of the indices while loops run, their
// union per buffer.
#include "rldb/ir/regions.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {
namespace {

// Inclusive; null: that end is unknown.
struct Interval {
  const Expr* min = nullptr;
  const Expr* max = nullptr;
  bool is_point() const { return min && min == max; }
};

struct Access {
  const Buffer* buffer;
  std::vector<Interval> dims;
};

class Detector {
 public:
  Detector(Context& ctx, const BlockParts& block, InnerBlocks inner) : ctx_(ctx), ana_(ctx), inner_(inner) {
    for (const IterVar& a : block.axes) ana_.bind_range(a.var, a.dom);
    for (const MatchBufferRegion& m : block.matches) matches_[m.buffer] = &m;
    for (const Buffer* b : block.allocated) skip(b);
  }

  void stmt(const Stmt* s);
  void expr(const Expr* e);
  void skip(const Buffer* b) { local_.insert(b); }

  std::vector<Access> reads;
  std::vector<Access> writes;

  BufferRegion region(const Access& a);

 private:
  void touch(std::vector<Access>& where, const Buffer* b, std::vector<Interval> dims);
  void forget(const Var* v);
  void touch_point(std::vector<Access>& where, const Buffer* b, std::span<const Expr* const> indices);
  void touch_realize(const SBlockRealize* r);
  void touch_block(const SBlock* b, const VarMap& map);
  void touch_body(const SBlock* b, const VarMap& map);
  void touch_region(std::vector<Access>& where, const BufferRegion& region, const VarMap& map);
  std::vector<Interval> in_source(const MatchBufferRegion& m, const std::vector<Interval>& dims);
  Interval eval(const Expr* e);
  Interval eval_binary(const BinaryExpr* b);
  Interval join(const Interval& a, const Interval& b);
  // In terms of variables that are defined outside of the block.
  const Expr* without_lets(const Expr* e) { return lets_.empty() ? e : substitute(ctx_, e, lets_); }
  bool mentions_loop(const Expr* e);
  bool reads_local(const Expr* e);

  Context& ctx_;
  Analyzer ana_;
  InnerBlocks inner_;
  std::unordered_map<const Var*, Interval> loops_;
  VarMap lets_;
  std::unordered_set<const Buffer*> local_;
  std::unordered_map<const Buffer*, const MatchBufferRegion*> matches_;
};

bool Detector::mentions_loop(const Expr* e) {
  std::vector<const Var*> vars;
  collect_vars(e, vars);
  return std::any_of(vars.begin(), vars.end(), [&](const Var* v) { return loops_.count(v) != 0; });
}

// Whether it has a part whose value is unknown: a call, or a number converted from a float.
bool has_opaque_part(const Expr* e) {
  bool found = false;
  walk(e, [&](const Node* n) {
    if (isa<BufferLoad>(n)) return false;
    const auto* c = as<CastExpr>(n);
    if (isa<Call>(n) || (c && c->value->dtype().is_float())) found = true;
    return !found;
  });
  return found;
}

// Whether it reads an element of a buffer that lives in the block: outside it there is no such element.
bool Detector::reads_local(const Expr* e) {
  if (local_.empty()) return false;
  bool found = false;
  walk(e, [&](const Node* n) {
    const auto* load = as<BufferLoad>(n);
    found = found || (load && local_.contains(load->buffer));
    return !found;
  });
  return found;
}

Interval Detector::eval(const Expr* e) {
  bool opaque = has_opaque_part(e) || reads_local(e);
  if (!opaque && (loops_.empty() || !mentions_loop(e))) return {e, e};
  if (const auto* v = as<Var>(e)) return loops_.at(v);
  if (const auto* b = as<BinaryExpr>(e)) return eval_binary(b);
  const auto* c = as<CastExpr>(e);
  if (c && !c->value->dtype().is_float()) {
    Interval i = eval(c->value);
    if (i.min) i.min = cast_to(ctx_, c->dtype(), i.min);
    if (i.max) i.max = cast_to(ctx_, c->dtype(), i.max);
    return i;
  }
  return {};
}

Interval Detector::eval_binary(const BinaryExpr* b) {
  Interval x = eval(b->a);
  Interval y = eval(b->b);
  auto both = [&](const Expr* p, const Expr* q, auto f) -> const Expr* { return p && q ? f(ctx_, p, q) : nullptr; };
  auto constant = const_int(b->b);
  auto non_negative = [&](const Expr* e) {
    return ana_.prove(compare(ctx_, BinaryKind::GE, e, ctx_.int_imm(e->dtype(), 0)));
  };
  if (b->kind == BinaryKind::Add) return {both(x.min, y.min, add), both(x.max, y.max, add)};
  if (b->kind == BinaryKind::Sub) return {both(x.min, y.max, sub), both(x.max, y.min, sub)};
  // One known side bounds a minimum from above and a maximum from below.
  auto either = [&](const Expr* p, const Expr* q, auto f) { return p && q ? f(ctx_, p, q) : p ? p : q; };
  if (b->kind == BinaryKind::Min) return {both(x.min, y.min, min), either(x.max, y.max, min)};
  if (b->kind == BinaryKind::Max) return {either(x.min, y.min, max), both(x.max, y.max, max)};
  if (b->kind == BinaryKind::Mul) {
    if (y.is_point() && non_negative(y.min)) return {both(x.min, y.min, mul), both(x.max, y.min, mul)};
    if (y.is_point() && constant) return {both(x.max, y.min, mul), both(x.min, y.min, mul)};
    if (x.is_point() && non_negative(x.min)) return {both(x.min, y.min, mul), both(x.min, y.max, mul)};
  }
  auto divide = [](Context& ctx, const Expr* p, const Expr* q) { return floor_div(ctx, p, q); };
  if (b->kind == BinaryKind::FloorDiv && constant && *constant > 0)
    return {both(x.min, y.min, divide), both(x.max, y.min, divide)};
  if (b->kind == BinaryKind::FloorMod && y.is_point())
    return {ctx_.int_imm(b->dtype(), 0), sub(ctx_, y.min, ctx_.int_imm(b->dtype(), 1))};
  return {};
}

Interval Detector::join(const Interval& a, const Interval& b) {
  if (a.is_point() && b.is_point() && (a.min == b.min || expr_equal(a.min, b.min) || ana_.prove_equal(a.min, b.min)))
    return a;
  if (!a.min || !a.max || !b.min || !b.max) return {};
  auto pick = [&](const Expr* x, const Expr* y, BinaryKind op) {
    if (ana_.prove(compare(ctx_, BinaryKind::LE, x, y))) return op == BinaryKind::Min ? x : y;
    if (ana_.prove(compare(ctx_, BinaryKind::LE, y, x))) return op == BinaryKind::Min ? y : x;
    return op == BinaryKind::Min ? min(ctx_, x, y) : max(ctx_, x, y);
  };
  return {pick(a.min, b.min, BinaryKind::Min), pick(a.max, b.max, BinaryKind::Max)};
}

// The buffer that a sub-region was taken from, for an access to the sub-region's buffer.
std::vector<Interval> Detector::in_source(const MatchBufferRegion& m, const std::vector<Interval>& dims) {
  std::vector<Interval> out;
  const std::size_t rank = m.source.region.size();
  const std::size_t dropped = rank - std::min(rank, dims.size());
  for (std::size_t i = 0; i < rank; ++i) {
    const Range& r = m.source.region[i];
    const Interval* d = i < dropped ? nullptr : &dims[i - dropped];
    if (d && d->min && d->max) {
      const Expr* low = add(ctx_, r.min, d->min);
      out.push_back({low, d->is_point() ? low : add(ctx_, r.min, d->max)});
    } else if (is_const(r.extent, 1)) {
      out.push_back({r.min, r.min});
    } else {
      out.push_back({r.min, sub(ctx_, add(ctx_, r.min, r.extent), ctx_.int_imm(r.extent->dtype(), 1))});
    }
  }
  return out;
}

void Detector::touch(std::vector<Access>& where, const Buffer* b, std::vector<Interval> dims) {
  if (const auto it = matches_.find(b); it != matches_.end()) {
    b = it->second->source.buffer;
    dims = in_source(*it->second, dims);
  }
  if (local_.contains(b)) return;
  for (Access& a : where) {
    if (a.buffer != b) continue;
    for (std::size_t i = 0; i < a.dims.size() && i < dims.size(); ++i) a.dims[i] = join(a.dims[i], dims[i]);
    return;
  }
  where.push_back({b, std::move(dims)});
}

void Detector::touch_point(std::vector<Access>& where, const Buffer* b, std::span<const Expr* const> indices) {
  std::vector<Interval> dims;
  for (const Expr* e : indices) {
    e = without_lets(e);
    if (const auto* r = as<Ramp>(e)) {
      const Expr* last =
          add(ctx_, r->base, mul(ctx_, r->stride, sub(ctx_, r->lanes, ctx_.int_imm(r->lanes->dtype(), 1))));
      dims.push_back(join(eval(r->base), eval(last)));
    } else {
      dims.push_back(eval(e));
    }
  }
  touch(where, b, std::move(dims));
}

void Detector::touch_region(std::vector<Access>& where, const BufferRegion& region, const VarMap& map) {
  std::vector<Interval> dims;
  for (const Range& range : region.region) {
    const Expr* min = substitute(ctx_, range.min, map);
    const Expr* extent = substitute(ctx_, range.extent, map);
    Interval low = eval(min);
    if (is_const(extent, 1)) {
      dims.push_back(low);
      continue;
    }
    Interval high = eval(sub(ctx_, add(ctx_, min, extent), ctx_.int_imm(extent->dtype(), 1)));
    dims.push_back({low.min, high.max});
  }
  touch(where, region.buffer, std::move(dims));
}

void Detector::touch_block(const SBlock* b, const VarMap& map) {
  if (inner_ == InnerBlocks::AsAccessed) return touch_body(b, map);
  auto note = [&](std::vector<Access>& where, const BufferRegion& region) {
    if (std::find(b->alloc_buffers.begin(), b->alloc_buffers.end(), region.buffer) == b->alloc_buffers.end())
      touch_region(where, region, map);
  };
  for (const BufferRegion& region : b->reads) note(reads, region);
  for (const BufferRegion& region : b->writes) note(writes, region);
}

// A sub-region may be taken from another: that one has been counted where it was made.
void Detector::touch_body(const SBlock* b, const VarMap& map) {
  for (const Buffer* own : b->alloc_buffers) skip(own);
  for (const MatchBufferRegion& m : b->match_buffers) {
    touch_region(reads, m.source, map);
    touch_region(writes, m.source, map);
    skip(m.buffer);
  }
  const VarMap outer = std::exchange(lets_, map);
  stmt(b->init);
  stmt(b->body);
  lets_ = outer;
}

void Detector::touch_realize(const SBlockRealize* r) {
  VarMap map = lets_;
  for (std::size_t i = 0; i < r->iter_values.size(); ++i)
    map[r->block->iter_vars[i].var] = without_lets(r->iter_values[i]);
  for (const Expr* v : r->iter_values) expr(v);
  expr(r->predicate);
  touch_block(r->block, map);
}

void Detector::expr(const Expr* e) {
  // The load before the loads in its indices.
  walk(e, [&](const Node* n) {
    // A name within the expression is not followed to its value.
    if (const auto* let = as<LetExpr>(n)) forget(let->var);
    if (const auto* load = as<BufferLoad>(n)) touch_point(reads, load->buffer, load->indices);
    return true;
  });
}

void Detector::forget(const Var* v) {
  lets_.erase(v);
  loops_[v] = {};
}

// Counted as a tree, as it is walked: names that stand for each other's sums double.
bool is_large(const Expr* e) {
  constexpr int kMost = 10'000;
  int nodes = 0;
  walk(e, [&](const Node*) { return ++nodes < kMost; });
  return nodes >= kMost;
}

void Detector::stmt(const Stmt* s) {
  if (!s) return;
  if (const auto* seq = as<SeqStmt>(s)) {
    for (const Stmt* part : seq->stmts) stmt(part);
  } else if (const auto* store = as<BufferStore>(s)) {
    touch_point(writes, store->buffer, store->indices);
    expr(store->value);
    for (const Expr* i : store->indices) expr(i);
    if (store->predicate) expr(store->predicate);
  } else if (const auto* loop = as<ForStmt>(s)) {
    expr(loop->min);
    expr(loop->extent);
    const Range range{without_lets(loop->min), without_lets(loop->extent)};
    Interval low = eval(range.min);
    Interval high = eval(sub(ctx_, add(ctx_, range.min, range.extent), ctx_.int_imm(range.extent->dtype(), 1)));
    ana_.bind_range(loop->var, range);
    loops_[loop->var] = {low.min, high.max};
    stmt(loop->body);
  } else if (const auto* branch = as<IfThenElse>(s)) {
    expr(branch->cond);
    stmt(branch->then_case);
    stmt(branch->else_case);
  } else if (const auto* w = as<WhileStmt>(s)) {
    expr(w->cond);
    stmt(w->body);
  } else if (const auto* a = as<AttrStmt>(s)) {
    expr(a->value);
    if (a->thread_var) {
      const Range range{ctx_.int_imm(a->value->dtype(), 0), without_lets(a->value)};
      ana_.bind_range(a->thread_var, range);
      loops_[a->thread_var] = {range.min, sub(ctx_, range.extent, ctx_.int_imm(a->value->dtype(), 1))};
    }
    stmt(a->body);
  } else if (const auto* b = as<BindStmt>(s)) {
    expr(b->value);
    const Expr* value = without_lets(b->value);
    if (is_large(value))
      forget(b->var);
    else
      lets_[b->var] = value;
  } else if (const auto* ev = as<Evaluate>(s)) {
    expr(ev->value);
  } else if (const auto* check = as<AssertStmt>(s)) {
    expr(check->cond);
  } else if (const auto* alloc = as<AllocBuffer>(s)) {
    skip(alloc->buffer);
  } else if (const auto* decl = as<DeclBuffer>(s)) {
    skip(decl->buffer);
  } else if (const auto* r = as<SBlockRealize>(s)) {
    touch_realize(r);
  } else if (const auto* inner = as<SBlock>(s)) {
    touch_block(inner, lets_);
  }
}

BufferRegion Detector::region(const Access& a) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    const Interval& d = a.dims[i];
    if (d.is_point()) {
      ranges.push_back({d.min, ctx_.int_imm(d.min->dtype(), 1)});
    } else if (d.min && d.max) {
      // One index has the literal 0, another an int64 one: the text has one dtype for both ends.
      const DType t = d.min->dtype().bits < d.max->dtype().bits ? d.max->dtype() : d.min->dtype();
      const Expr* min = ana_.simplify(cast_to(ctx_, t, d.min));
      const Expr* extent = ana_.simplify(add(ctx_, sub(ctx_, d.max, d.min), ctx_.int_imm(d.max->dtype(), 1)));
      ranges.push_back({min, simplified_extent(ctx_, extent)});
    } else {
      ranges.push_back({ctx_.int_imm(a.buffer->shape[i]->dtype(), 0), a.buffer->shape[i]});
    }
  }
  return {a.buffer, ctx_.list(ranges)};
}

}  // namespace

const Expr* simplified_extent(Context& ctx, const Expr* extent) {
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    const Expr* simpler = Analyzer(ctx).simplify(extent);
    if (expr_equal(simpler, extent)) break;
    extent = simpler;
  }
  return extent;
}

Regions infer_regions(Context& ctx, const BlockParts& block, InnerBlocks inner) {
  Detector d(ctx, block, inner);
  d.stmt(block.init);
  d.stmt(block.body);
  Regions out;
  for (const Access& a : d.writes) out.writes.push_back(d.region(a));
  for (const Access& a : d.reads) {
    // The target that a reduction updates is not an input of it.
    bool updated = block.init &&
                   std::any_of(d.writes.begin(), d.writes.end(), [&](const Access& w) { return w.buffer == a.buffer; });
    if (!updated) out.reads.push_back(d.region(a));
  }
  return out;
}

}  // namespace rldb::ir
