// Which loads and stores of a PrimFunc are certainly in bounds: an abstract run over polynomials.
#include "rldb/schedule/bounds.h"

#include <map>
#include <tuple>

#include "rldb/ir/comparison.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/prover.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;
using ir::Comparison;
using ir::DType;
using ir::prove::Poly;
using ir::prove::Prover;
using ir::prove::Symbol;

namespace {

constexpr int kMaxDepth = 1'500;
// Larger literals are not reasoned about, so that sums of products of them stay far from 64 bits.
constexpr std::int64_t kMaxLiteral = std::int64_t(1) << 40;

struct Memory {
  Poly bytes;  // at least so many
  const ir::Var* root = nullptr;
};

std::int64_t width_of(DType t) { return std::int64_t(t.bytes()); }

class Analysis {
 public:
  explicit Analysis(BoundsFacts& out) : out_(out) {}
  void function(const ir::PrimFunc* f);

 private:
  // ---- values ----
  Poly value(const ir::Expr* e);  // as if integers had no width
  Poly exact(const ir::Expr* e);  // unknown when a narrow type might wrap
  Poly binary(const ir::BinaryExpr* e);
  Poly cast(const ir::CastExpr* e);
  Poly pick(BinaryKind kind, const Poly& a, const Poly& b);
  Poly ramp(const ir::Ramp* r);
  Poly unknown(DType t);
  bool within(const Poly& p, DType t);
  void assume(const ir::Expr* cond, bool holds, int depth = 0);
  void assume_compare(Comparison op, const ir::BinaryExpr* e);

  // ---- statements ----
  void stmt(const ir::Stmt* s);
  void expr(const ir::Expr* e);
  void either(const ir::Expr* cond, const ir::Expr* yes, const ir::Expr* no);
  void exprs(ir::Span<const ir::Expr*> list) {
    for (const ir::Expr* e : list) expr(e);
  }
  void loop(const ir::ForStmt* l);
  void realize(const ir::SBlockRealize* r);
  void block(const ir::SBlock* b);
  void match(const ir::MatchBufferRegion& m);
  void access(const void* node, const ir::Buffer* b, ir::Span<const ir::Expr*> indices);

  // ---- buffers ----
  void shape_of(const ir::Buffer* b);
  void allocate(const ir::Buffer* b);
  void declare(const ir::DeclBuffer* s);
  void missed(const ir::Buffer* b);
  void bind(const ir::Var* v, const ir::Expr* e);
  void place(const ir::Buffer* b, const Poly* bytes);
  void parameters(const ir::PrimFunc* f);

  void forget(std::size_t mark) { prover_.forget(mark); }

  BoundsFacts& out_;
  Prover prover_;
  std::unordered_map<const ir::Var*, Poly> vars_;
  std::unordered_map<const ir::Buffer*, std::vector<Poly>> shapes_;
  std::unordered_map<const ir::Var*, Memory> memory_;
  std::unordered_set<const ir::Var*> matched_;  // defined by a match_buffer
  std::map<int, Symbol> lanes_;
  std::map<std::tuple<bool, Poly, Poly>, Symbol> picks_;  // of min (true) and max
  int wraps_ = 0;                                         // values so far that may wrap
  int depth_ = 0;
};

struct Deeper {
  explicit Deeper(int& d) : depth(d) { ++depth; }
  ~Deeper() { --depth; }
  int& depth;
};

// ---- values ----

Poly Analysis::unknown(DType t) {
  const Symbol v = prover_.make(t.is_uint() || t.is_bool());
  const Poly p = Poly::of(v);
  if (t.is_integral() && t.bits <= 32) {
    const std::int64_t range = std::int64_t(1) << t.bits;
    prover_.always((t.is_int() ? Poly(range / 2 - 1) : Poly(range - 1)) - p);
    if (t.is_int()) prover_.always(p + Poly(range / 2));
  }
  return p;
}

bool Analysis::within(const Poly& p, DType t) {
  if (t.is_int() && t.bits >= 64) return true;
  if (!t.is_integral() || t.bits >= 63 || t.is_bool()) return false;
  const std::int64_t range = std::int64_t(1) << t.bits;
  const std::int64_t low = t.is_int() ? -range / 2 : 0;
  return prover_.never_negative(p - Poly(low)) && prover_.never_negative(Poly(low + range - 1) - p);
}

Poly Analysis::exact(const ir::Expr* e) {
  Poly p = value(e);
  const DType t = e->dtype().element();
  const bool ring = e->kind == BinaryKind::Add || e->kind == BinaryKind::Sub || e->kind == BinaryKind::Mul;
  if (p.valid() && (!ring || within(p, t))) return p;
  ++wraps_;
  return unknown(t);
}

Poly Analysis::value(const ir::Expr* e) {
  Deeper deeper(depth_);
  const DType t = e->dtype().element();
  if (depth_ > kMaxDepth || !t.is_integral()) return unknown(t);
  if (const auto* i = as<ir::IntImm>(e)) {
    if (i->value > kMaxLiteral || i->value < -kMaxLiteral) return unknown(t);
    return i->value;
  }
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = vars_.find(v);
    if (it != vars_.end()) return it->second;
    return vars_[v] = unknown(t);
  }
  if (t.is_uint() && t.bits >= 64) return unknown(t);
  if (const auto* b = as<ir::BinaryExpr>(e)) return binary(b);
  if (const auto* c = as<ir::CastExpr>(e)) return cast(c);
  if (const auto* s = as<ir::SelectExpr>(e)) {
    const Symbol v = prover_.make();
    prover_.either(v, exact(s->true_value), exact(s->false_value));
    return Poly::of(v);
  }
  if (const auto* r = as<ir::Ramp>(e)) return ramp(r);
  if (const auto* b = as<ir::Broadcast>(e)) return value(b->value);
  return unknown(t);
}

Poly Analysis::cast(const ir::CastExpr* e) {
  const DType from = e->value->dtype().element(), to = e->dtype().element();
  if (!from.is_integral() || to.is_bool()) return unknown(to);
  const Poly p = exact(e->value);
  if (to.is_int() && from.is_int() && to.bits >= from.bits) return p;
  if (within(p, to)) return p;
  ++wraps_;
  return unknown(to);
}

// All vectors of one statement with the same number of lanes are processed lane by lane.
Poly Analysis::ramp(const ir::Ramp* r) {
  const DType t = r->dtype();
  if (t.is_scalable() || r->base->dtype().lanes > 1 || r->stride->dtype().lanes > 1) return unknown(t.element());
  const auto [it, made] = lanes_.try_emplace(t.lanes, Symbol(0));
  if (made) {
    it->second = prover_.make(true);
    prover_.always(Poly(t.lanes - 1) - Poly::of(it->second));
  }
  return value(r->base) + value(r->stride) * Poly::of(it->second);
}

Poly Analysis::pick(BinaryKind kind, const Poly& a, const Poly& b) {
  const bool is_min = kind == BinaryKind::Min;
  if (prover_.never_negative(b - a)) return is_min ? a : b;
  if (prover_.never_negative(a - b)) return is_min ? b : a;
  // The same operands give the same symbol: what is known of one occurrence holds for the others.
  const auto [it, made] = picks_.try_emplace({is_min, a, b}, Symbol(0));
  if (!made) return Poly::of(it->second);
  const Symbol v = it->second = prover_.make();
  prover_.either(v, a, b);
  const Prover::Range x = prover_.range(a), y = prover_.range(b);
  // One end is that of either operand, the other needs both.
  const auto nearest = [&](std::optional<std::int64_t> m, std::optional<std::int64_t> n) {
    return m && n ? std::optional(is_min ? std::min(*m, *n) : std::max(*m, *n)) : m ? m : n;
  };
  const auto furthest = [&](std::optional<std::int64_t> m, std::optional<std::int64_t> n) {
    return m && n ? std::optional(is_min ? std::min(*m, *n) : std::max(*m, *n)) : std::nullopt;
  };
  prover_.limit(v, is_min ? Prover::Range{furthest(x.low, y.low), nearest(x.high, y.high)}
                          : Prover::Range{nearest(x.low, y.low), furthest(x.high, y.high)});
  const Poly p = Poly::of(v);
  prover_.always(is_min ? a - p : p - a);
  prover_.always(is_min ? b - p : p - b);
  return p;
}

Poly Analysis::binary(const ir::BinaryExpr* e) {
  const DType t = e->dtype().element();
  if (!e->a->dtype().is_integral() || t.is_bool()) return unknown(t);
  switch (e->op()) {
    case BinaryKind::Add:
    case BinaryKind::Sub:
    case BinaryKind::Mul: {
      const Poly a = value(e->a), b = value(e->b);
      const Poly out = e->kind == BinaryKind::Add ? a + b : e->kind == BinaryKind::Sub ? a - b : a * b;
      return out.valid() ? out : unknown(t);
    }
    case BinaryKind::Min:
    case BinaryKind::Max:
      return pick(e->op(), exact(e->a), exact(e->b));
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod:
    case BinaryKind::Div:
    case BinaryKind::Mod: {
      const Poly a = exact(e->a), b = exact(e->b);
      const bool truncates = e->kind == BinaryKind::Div || e->kind == BinaryKind::Mod;
      if (truncates && !prover_.never_negative(a)) return unknown(t);
      const Poly q = prover_.floor_div(a, b);
      const bool remainder = e->kind == BinaryKind::FloorMod || e->kind == BinaryKind::Mod;
      const Poly out = remainder ? a - b * q : q;
      return out.valid() ? out : unknown(t);
    }
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
    break;  // bool
  }
  return unknown(t);
}

// ---- conditions ----

void Analysis::assume_compare(Comparison op, const ir::BinaryExpr* e) {
  const DType t = e->a->dtype().element();
  if (!t.is_integral() || t.is_bool() || (t.is_uint() && t.bits >= 64)) return;
  const Poly d = exact(e->b) - exact(e->a);
  if (op == Comparison::LT) prover_.fact(d - Poly(1));
  if (op == Comparison::LE || op == Comparison::EQ) prover_.fact(d);
  if (op == Comparison::GE || op == Comparison::EQ) prover_.fact(Poly(0) - d);
  if (op == Comparison::GT) prover_.fact(Poly(-1) - d);
}

void Analysis::assume(const ir::Expr* cond, bool holds, int depth) {
  if (depth > 64) return;
  if (const auto* n = as<ir::NotExpr>(cond)) return assume(n->a, !holds, depth + 1);
  if (const auto* c = as<ir::Call>(cond)) {
    if (ir::is_call_of(c, ir::intrin::Likely)) assume(c->args[0], holds, depth + 1);
    return;
  }
  const auto* b = as<ir::BinaryExpr>(cond);
  if (!b) return;
  if (ir::is_logic(b->op())) {
    if ((b->kind == BinaryKind::And) != holds) return;  // one of the two, unknown which
    assume(b->a, holds, depth + 1);
    assume(b->b, holds, depth + 1);
  } else if (const auto op = ir::comparison_of(b)) {
    assume_compare(holds ? *op : ir::opposite(*op), b);
  }
}

// ---- accesses ----

void Analysis::access(const void* node, const ir::Buffer* b, ir::Span<const ir::Expr*> indices) {
  const auto shape = shapes_.find(b);
  std::uint64_t& bad = out_.unproved[node];
  for (std::size_t i = 0; i < indices.size() && i < 64; ++i) {
    bool inside = shape != shapes_.end() && i < shape->second.size();
    if (inside) {
      const int wraps = wraps_;
      const Poly at = value(indices[i]);
      if (wraps != wraps_) out_.as_written[node] |= std::uint64_t(1) << i;
      inside = prover_.never_negative_by_any(at) && prover_.never_negative_by_any(shape->second[i] - Poly(1) - at);
    }
    if (!inside) bad |= std::uint64_t(1) << i;
  }
  if (bad || !out_.fits(b)) missed(b);
}

void Analysis::missed(const ir::Buffer* b) {
  const auto it = memory_.find(b->data);
  if (it != memory_.end()) out_.unproved_data.insert(it->second.root);
}

void Analysis::bind(const ir::Var* v, const ir::Expr* e) {
  const DType t = e->dtype().element();
  const Poly p = value(e);
  const bool ring = e->kind == BinaryKind::Add || e->kind == BinaryKind::Sub || e->kind == BinaryKind::Mul;
  const bool same = p.valid() && t.is_int() && t == v->dtype().element() && (!ring || within(p, t));
  vars_[v] = same ? p : unknown(v->dtype().element());
  const auto [it, made] = out_.exact.try_emplace(e, same);
  if (!made) it->second = it->second && same;
}

// Each side is computed only where it is needed.
void Analysis::either(const ir::Expr* cond, const ir::Expr* yes, const ir::Expr* no) {
  expr(cond);
  for (const bool holds : {true, false}) {
    const std::size_t mark = prover_.mark();
    assume(cond, holds);
    expr(holds ? yes : no);
    forget(mark);
  }
}

void Analysis::expr(const ir::Expr* e) {
  if (!e) return;
  Deeper deeper(depth_);
  if (depth_ > kMaxDepth) return;
  if (as<ir::Var>(e) || as<ir::IntImm>(e) || as<ir::FloatImm>(e)) return;
  if (const auto* l = as<ir::BufferLoad>(e)) {
    exprs(l->indices);
    const std::size_t mark = prover_.mark();
    if (l->predicate) {
      expr(l->predicate);
      assume(l->predicate, true);
    }
    access(l, l->buffer, l->indices);
    return forget(mark);
  }
  if (const auto* b = as<ir::BinaryExpr>(e)) {
    expr(b->a);
    const std::size_t mark = prover_.mark();
    if (b->kind == BinaryKind::And || b->kind == BinaryKind::Or) assume(b->a, b->kind == BinaryKind::And);
    expr(b->b);
    return forget(mark);
  }
  if (const auto* l = as<ir::LetExpr>(e)) {
    expr(l->value);
    bind(l->var, l->value);
    return expr(l->body);
  }
  if (const auto* c = as<ir::Call>(e)) {
    if (ir::is_call_of(c, ir::intrin::IfThenElse)) return either(c->args[0], c->args[1], c->args[2]);
    return exprs(c->args);
  }
  if (const auto* s = as<ir::SelectExpr>(e)) return either(s->cond, s->true_value, s->false_value);
  ir::for_each_use(e, [&](const ir::Node* n) {
    if (const auto* part = as<ir::Expr>(n)) expr(part);
  });
}

// ---- buffers ----

void Analysis::shape_of(const ir::Buffer* b) {
  std::vector<Poly>& shape = shapes_[b];
  shape.clear();
  for (const ir::Expr* d : b->shape) shape.push_back(exact(d));
}

// Whether all elements of a buffer lie in `bytes` bytes (null: not known) from where its data points.
void Analysis::place(const ir::Buffer* b, const Poly* bytes) {
  const std::vector<Poly>& shape = shapes_[b];
  Poly last = 0;  // index of the last element
  bool known = bytes != nullptr;
  Poly compact = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const Poly stride = b->strides.empty() ? compact : i < b->strides.size() ? exact(b->strides[i]) : Poly(1);
    if (!b->strides.empty()) known = known && prover_.never_negative(stride);
    last = last + (shape[i] - Poly(1)) * stride;
    compact = compact * shape[i];
  }
  if (b->elem_offset && !(as<ir::Var>(b->elem_offset) && !vars_.contains(as<ir::Var>(b->elem_offset)))) {
    const Poly offset = exact(b->elem_offset);
    known = known && prover_.never_negative(offset);
    last = last + offset;
  }
  known = known && prover_.never_negative(*bytes - (last + Poly(1)) * Poly(width_of(b->dtype)));
  if (!known) out_.loose.insert(b);
}

void Analysis::allocate(const ir::Buffer* b) {
  shape_of(b);
  Poly count = 1;
  if (b->strides.empty() && !b->elem_offset) {
    for (const Poly& d : shapes_[b]) count = count * d;
  } else {
    // It holds the span of its strides (Lowering::storage_extents), which is simple only if all of it is constant.
    for (std::size_t i = 0; i < b->shape.size(); ++i) {
      const std::int64_t stride = i < b->strides.size() ? ir::const_int(b->strides[i]).value_or(-1) : -1;
      const std::int64_t extent = ir::const_int(b->shape[i]).value_or(-1);
      const bool known = stride >= 0 && extent > 0;
      count = known ? count + Poly(extent - 1) * Poly(stride) : Poly::invalid();
    }
    if (b->elem_offset && !ir::is_const(b->elem_offset, 0) && !as<ir::Var>(b->elem_offset)) count = Poly::invalid();
    if (!count.valid()) out_.loose.insert(b);
  }
  memory_[b->data] = {count * Poly(width_of(b->dtype)), b->data};
}

void Analysis::declare(const ir::DeclBuffer* s) {
  const auto* data = s->data ? as<ir::Var>(s->data) : s->buffer->data;
  const auto it = data ? memory_.find(data) : memory_.end();
  if (it == memory_.end() && !s->data) return allocate(s->buffer);
  shape_of(s->buffer);
  if (it == memory_.end()) {
    out_.loose.insert(s->buffer);
    return;
  }
  place(s->buffer, &it->second.bytes);
  memory_[s->buffer->data] = Memory(it->second);
}

void Analysis::parameters(const ir::PrimFunc* f) {
  for (const ir::PrimParam& p : f->params) {
    if (!p.buffer) continue;
    for (const ir::Expr* d : p.buffer->shape)
      if (const auto* v = as<ir::Var>(d); v && !vars_.contains(v)) vars_[v] = Poly::of(prover_.make(true));
  }
  for (const ir::PrimParam& p : f->params) {
    if (!p.buffer) {
      if (p.var->dtype().is_integral() && !vars_.contains(p.var)) vars_[p.var] = unknown(p.var->dtype());
      if (p.var->dtype().is_handle() || p.var->dtype().is_void()) memory_[p.var] = {Poly::invalid(), p.var};
      continue;
    }
    const ir::Buffer* b = p.buffer;
    std::vector<Poly>& shape = shapes_[b];
    // Dimensions were compared with the tensor's, so they are not negative.
    Poly bytes = width_of(b->dtype);
    for (const ir::Expr* d : b->shape) {
      shape.push_back(value(d));
      if (!shape.back().valid()) shape.back() = unknown(DType::Int(64));
      if (!as<ir::Var>(d)) prover_.always(shape.back());
      bytes = bytes * shape.back();
    }
    // Strides must be the compact ones (Lowering::bind_parameter_buffer).
    for (const ir::Expr* s : b->strides)
      if (const auto* v = as<ir::Var>(s); v && !vars_.contains(v)) vars_[v] = Poly::of(prover_.make(true));
    const bool at_start = !b->elem_offset || ir::is_const(b->elem_offset, 0) ||
                          (as<ir::Var>(b->elem_offset) && !vars_.contains(as<ir::Var>(b->elem_offset)));
    if (const auto* v = as<ir::Var>(b->elem_offset); v && at_start) vars_[v] = 0;
    if (!at_start) out_.loose.insert(b);
    memory_[b->data] = {bytes, p.var};
    memory_[p.var] = {bytes, p.var};
  }
}

void Analysis::match(const ir::MatchBufferRegion& m) {
  const auto source = shapes_.find(m.source.buffer);
  std::uint64_t& bad = out_.unproved[&m];
  std::vector<Poly> extents;
  for (std::size_t i = 0; i < m.source.region.size(); ++i) {
    const ir::Range& r = m.source.region[i];
    expr(r.min);
    expr(r.extent);
    const Poly min = exact(r.min), extent = exact(r.extent);
    extents.push_back(extent);
    const bool inside = source != shapes_.end() && i < source->second.size() && i < 64 && prover_.never_negative(min) &&
                        prover_.never_negative(extent) && prover_.never_negative(source->second[i] - min - extent);
    if (!inside && i < 64) bad |= std::uint64_t(1) << i;
  }
  // A variable of the target is defined anew each time the block is entered; a known one is compared.
  const auto define = [&](const ir::Var* v, const Poly& p) {
    if (!vars_.contains(v)) matched_.insert(v);
    if (matched_.contains(v)) vars_[v] = p;
  };
  const std::size_t skipped = extents.size() - std::min(extents.size(), m.buffer->shape.size());
  std::vector<Poly> shape;
  for (std::size_t i = 0; i < m.buffer->shape.size() && skipped + i < extents.size(); ++i) {
    shape.push_back(extents[skipped + i]);
    if (const auto* v = as<ir::Var>(m.buffer->shape[i])) define(v, shape.back());
  }
  for (const ir::Expr* s : m.buffer->strides)
    if (const auto* v = as<ir::Var>(s)) define(v, unknown(DType::Int(64)));
  if (const auto* v = as<ir::Var>(m.buffer->elem_offset)) define(v, unknown(DType::Int(64)));
  shapes_[m.buffer] = std::move(shape);
  if (!out_.fits(m.source.buffer)) out_.loose.insert(m.buffer);
  if (bad) missed(m.source.buffer);
  const auto memory = memory_.find(m.source.buffer->data);
  memory_[m.buffer->data] = memory == memory_.end() ? Memory{Poly::invalid(), nullptr} : Memory(memory->second);
}

// ---- statements ----

void Analysis::loop(const ir::ForStmt* l) {
  expr(l->min);
  expr(l->extent);
  expr(l->step);
  const Poly min = exact(l->min), extent = exact(l->extent);
  const std::size_t mark = prover_.mark();
  prover_.fact(extent - Poly(1));  // or its body does not run
  const auto low = min.constant();
  const Symbol symbol = prover_.make(low && *low >= 0);
  const Poly v = Poly::of(symbol);
  prover_.limit(symbol, {prover_.range(min).low, prover_.range(min + extent - Poly(1)).high});
  prover_.fact(v - min);
  prover_.fact(min + extent - Poly(1) - v);
  vars_[l->var] = v;
  stmt(l->body);
  forget(mark);
}

void Analysis::realize(const ir::SBlockRealize* r) {
  exprs(r->iter_values);
  expr(r->predicate);
  const std::size_t mark = prover_.mark();
  if (!ir::is_const(r->predicate, 1)) assume(r->predicate, true);
  for (std::size_t i = 0; i < r->block->iter_vars.size() && i < r->iter_values.size(); ++i)
    bind(r->block->iter_vars[i].var, r->iter_values[i]);
  block(r->block);
  forget(mark);
}

void Analysis::block(const ir::SBlock* b) {
  for (const ir::IterVar& axis : b->iter_vars) {
    expr(axis.dom.min);
    expr(axis.dom.extent);
  }
  for (const ir::Buffer* buffer : b->alloc_buffers) allocate(buffer);
  for (const ir::MatchBufferRegion& m : b->match_buffers) match(m);
  if (b->init) stmt(b->init);
  stmt(b->body);
}

void Analysis::stmt(const ir::Stmt* s) {
  Deeper deeper(depth_);
  if (!s || depth_ > kMaxDepth) return;
  support::poll();
  if (const auto* st = as<ir::SeqStmt>(s)) {
    for (const ir::Stmt* part : st->stmts) stmt(part);
  } else if (const auto* st = as<ir::BufferStore>(s)) {
    expr(st->value);
    exprs(st->indices);
    expr(st->predicate);
    const std::size_t mark = prover_.mark();
    if (st->predicate) assume(st->predicate, true);
    access(st, st->buffer, st->indices);
    forget(mark);
  } else if (const auto* st = as<ir::ForStmt>(s)) {
    loop(st);
  } else if (const auto* st = as<ir::SBlockRealize>(s)) {
    realize(st);
  } else if (const auto* st = as<ir::SBlock>(s)) {
    block(st);
  } else if (const auto* st = as<ir::BindStmt>(s)) {
    expr(st->value);
    const auto* from = as<ir::Var>(st->value);
    const auto it = from ? memory_.find(from) : memory_.end();
    if (it != memory_.end())
      memory_[st->var] = Memory(it->second);
    else
      bind(st->var, st->value);
  } else if (const auto* st = as<ir::IfThenElse>(s)) {
    expr(st->cond);
    for (const bool holds : {true, false}) {
      const std::size_t mark = prover_.mark();
      assume(st->cond, holds);
      stmt(holds ? st->then_case : st->else_case);
      forget(mark);
    }
  } else if (const auto* st = as<ir::WhileStmt>(s)) {
    expr(st->cond);
    const std::size_t mark = prover_.mark();
    assume(st->cond, true);
    stmt(st->body);
    forget(mark);
  } else if (const auto* st = as<ir::Evaluate>(s)) {
    expr(st->value);
  } else if (const auto* st = as<ir::AssertStmt>(s)) {
    expr(st->cond);
    assume(st->cond, true);
  } else if (const auto* st = as<ir::AllocBuffer>(s)) {
    allocate(st->buffer);
  } else if (const auto* st = as<ir::DeclBuffer>(s)) {
    declare(st);
  } else if (const auto* st = as<ir::AllocateStmt>(s)) {
    Poly bytes = width_of(st->dtype);
    for (const ir::Expr* e : st->extents) bytes = bytes * exact(e);
    memory_[st->var] = {bytes, st->var};
  } else if (const auto* st = as<ir::AllocateConstStmt>(s)) {
    memory_[st->var] = {Poly(std::int64_t(st->value->as_tensor().byte_size())), st->var};
  } else if (const auto* st = as<ir::AttrStmt>(s)) {
    expr(st->value);
    if (st->thread_var) vars_[st->thread_var] = 0;
    stmt(st->body);
  }
}

void Analysis::function(const ir::PrimFunc* f) {
  parameters(f);
  stmt(f->body);
}

}  // namespace

bool BoundsFacts::all_proved(const ir::Node* n) const {
  bool all = true;
  const auto good = [&](const void* node, const ir::Buffer* b) {
    const auto it = unproved.find(node);
    all = all && it != unproved.end() && it->second == 0 && fits(b) && !as_written.contains(node);
  };
  ir::walk(n, [&](const ir::Node* part) {
    if (const auto* l = as<ir::BufferLoad>(part)) good(l, l->buffer);
    if (const auto* s = as<ir::BufferStore>(part)) good(s, s->buffer);
    return all;
  });
  return all;
}

BoundsFacts prove_bounds(const ir::PrimFunc* f) {
  BoundsFacts facts;
  Analysis(facts).function(f);
  return facts;
}

}  // namespace rldb::schedule
