// Ranges of the arguments of a PrimFunc: intervals through its body, narrowed where an index is out of bounds; floats
// that are followed to the roots and logarithms that are taken of them.
#include "session/inputs/kernel_ranges.h"

#include <algorithm>

#include "rldb/ir/comparison.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/integer.h"

namespace rldb::session {

using ir::as;
using ir::BinaryKind;
using ir::NodeKind;

namespace {

// No real index exceeds this; keeps sums and products of bounds in 64 bits.
constexpr std::int64_t kFar = std::int64_t(1) << 40;

Interval unknown(std::set<int> leaves = {}) { return {false, 0, 0, std::move(leaves), -1, false}; }

// Bounds are computed in doubles, which represent every sum and product of bounds exactly up to the limit for keeping
// them.
Interval made(double low, double high, std::set<int> leaves) {
  if (low < -kFar || high > kFar) return unknown(std::move(leaves));
  return {true, std::int64_t(low), std::int64_t(high), std::move(leaves), -1, false};
}

std::set<int> both(const Interval& a, const Interval& b) {
  std::set<int> out = a.leaves;
  out.insert(b.leaves.begin(), b.leaves.end());
  return out;
}

using support::floor_div;

// The hull of the results at the corners: correct for operations that are monotone in each operand.
template <class Fn>
Interval corners(const Interval& a, const Interval& b, Fn f) {
  const double all[] = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
  return made(*std::min_element(all, all + 4), *std::max_element(all, all + 4), both(a, b));
}

Interval quotient(const Interval& a, const Interval& b, bool floor) {
  if (b.low <= 0 && b.high >= 0) return unknown(both(a, b));
  return corners(a, b, [floor](std::int64_t x, std::int64_t y) { return double(floor ? floor_div(x, y) : x / y); });
}

Interval remainder(const Interval& a, const Interval& b, bool floor) {
  if (b.low <= 0) return unknown(both(a, b));
  if (a.low >= 0 && a.high < b.low) return made(double(a.low), double(a.high), both(a, b));
  const std::int64_t low = !floor && a.low < 0 ? 1 - b.high : 0;
  return made(double(low), double(a.low >= 0 ? std::min(a.high, b.high - 1) : b.high - 1), both(a, b));
}

// 1, 0, or either: a < b (or a <= b).
Interval less(const Interval& a, const Interval& b, bool equal_too) {
  if (!a.known || !b.known) return Interval::of(0, 1);
  if (equal_too ? a.high <= b.low : a.high < b.low) return Interval::of(1, 1);
  if (equal_too ? a.low > b.high : a.low >= b.high) return Interval::of(0, 0);
  return Interval::of(0, 1);
}

class KernelVisit {
 public:
  KernelVisit(const ir::PrimFunc* f, Leaves& leaves) : f_(f), leaves_(leaves) {}

  void run(std::vector<KernelArgument>& args) {
    bind(args);
    // A loop may write what it read in the previous iteration: twice is enough for indices that are copied around.
    stmt(f_->body);
    again_ = true;
    stmt(f_->body);
    for (std::size_t i = 0; i < args.size() && i < f_->params.size(); ++i)
      if (const ir::Buffer* b = f_->params[i].buffer) args[i].value = contents_[key(b)];
  }

  VariableInterval variables;
  Interval value(const ir::Expr* e) {
    if (--leaves_.budget < 0 || depth_ > 200) return unknown();
    ++depth_;
    Interval out = compute(e);
    --depth_;
    return out;
  }

 private:
  void bind(const std::vector<KernelArgument>& args) {
    for (std::size_t i = 0; i < args.size() && i < f_->params.size(); ++i) {
      const ir::PrimParam& p = f_->params[i];
      if (!p.buffer) {
        if (!variables.contains(p.var)) variables[p.var] = args[i].value;
        continue;
      }
      contents_[key(p.buffer)] = args[i].value;
      if (!args[i].has_shape || args[i].shape.size() != p.buffer->shape.size()) continue;
      for (std::size_t d = 0; d < p.buffer->shape.size(); ++d)
        if (const auto* v = as<ir::Var>(p.buffer->shape[d]))
          variables[v] = Interval::of(args[i].shape[d], args[i].shape[d]);
    }
  }

  // Buffers over the same pointer share their elements.
  const ir::Node* key(const ir::Buffer* b) const { return key_of(b->data ? static_cast<const ir::Node*>(b->data) : b); }
  const ir::Node* key_of(const ir::Node* k) const {
    const auto it = same_.find(k);
    return it == same_.end() ? k : it->second;
  }

  // ---- expressions ----

  Interval load(const ir::BufferLoad* e) {
    access(e->buffer, e->indices, e);
    const auto it = contents_.find(key(e->buffer));
    return it == contents_.end() ? unknown() : it->second;
  }

  void access(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, const ir::Node* at) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Interval index = value(indices[d]);
      if (index.leaves.empty() || d >= b->shape.size()) continue;
      const Interval extent = value(b->shape[d]);
      if (extent.known && extent.low == extent.high) leaves_.bound(index, extent.low, at);
    }
  }

  static Interval compared(ir::Comparison op, const Interval& a, const Interval& b) {
    switch (op) {
      case ir::Comparison::LT:
        return less(a, b, false);
      case ir::Comparison::LE:
        return less(a, b, true);
      case ir::Comparison::GT:
        return less(b, a, false);
      case ir::Comparison::GE:
        return less(b, a, true);
      case ir::Comparison::EQ:
      case ir::Comparison::NE:
        return Interval::of(0, 1);
    }
    RLDB_UNREACHABLE("every comparison has its case");
  }

  Interval binary(const ir::BinaryExpr* e) {
    const Interval a = value(e->a);
    const Interval b = value(e->b);
    if (!e->a->dtype().is_integral()) return e->dtype().is_bool() ? Interval::of(0, 1) : real(e->op(), a, b);
    const bool division = e->kind == BinaryKind::Div || e->kind == BinaryKind::FloorDiv || e->kind == BinaryKind::Mod ||
                          e->kind == BinaryKind::FloorMod;
    if (division) leaves_.not_zero(b, e);
    if (const auto op = ir::comparison_of(e)) return compared(*op, a, b);
    if (ir::is_logic(e->op())) return Interval::of(0, 1);
    if (e->kind == BinaryKind::FloorMod && b.known && b.low > 0) return remainder(a.known ? a : wide(a), b, true);
    if (!a.known || !b.known) return unknown(both(a, b));
    switch (e->op()) {
      case BinaryKind::Add:
        return corners(a, b, [](std::int64_t x, std::int64_t y) { return double(x) + double(y); });
      case BinaryKind::Sub:
        return corners(a, b, [](std::int64_t x, std::int64_t y) { return double(x) - double(y); });
      case BinaryKind::Mul:
        return corners(a, b, [](std::int64_t x, std::int64_t y) { return double(x) * double(y); });
      case BinaryKind::Min:
        return corners(a, b, [](std::int64_t x, std::int64_t y) { return double(std::min(x, y)); });
      case BinaryKind::Max:
        return corners(a, b, [](std::int64_t x, std::int64_t y) { return double(std::max(x, y)); });
      case BinaryKind::Div:
        return quotient(a, b, false);
      case BinaryKind::FloorDiv:
        return quotient(a, b, true);
      case BinaryKind::Mod:
        return remainder(a, b, false);
      case BinaryKind::FloorMod:
        return remainder(a, b, true);
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
        break;  // handled above
    }
    return unknown(both(a, b));
  }

  // Sums, products and quotients with numbers that are not negative have the sign of the leaf.
  static Interval real(BinaryKind op, const Interval& a, const Interval& b) {
    Interval out = unknown(both(a, b));
    const bool commutes = op == BinaryKind::Add || op == BinaryKind::Mul;
    if (!commutes && op != BinaryKind::Div) return out;
    out.not_negative = a.not_negative && b.not_negative;
    if (b.not_negative) out.same = a.same;
    if (commutes && a.not_negative) out.same = b.same;
    return out;
  }

  static Interval wide(const Interval& a) { return {true, -kFar, kFar, a.leaves, -1, false}; }

  Interval choose(const ir::Expr* cond, const ir::Expr* yes, const ir::Expr* no) {
    const Interval c = value(cond);
    const Interval a = value(yes);
    const Interval b = value(no);
    if (c.known && c.low == c.high) return c.low ? a : b;
    return join(a, b);
  }

  static bool is_of_positive(const ir::Call* c) {
    using namespace ir::intrin;
    return ir::is_call_of(c, Sqrt) || ir::is_call_of(c, Rsqrt) || ir::is_call_of(c, Log) || ir::is_call_of(c, Log2) ||
           ir::is_call_of(c, Log10);
  }

  void demand_positive(const Interval& v) {
    if (v.same >= 0) leaves_.rows[std::size_t(v.same)].positive = true;
  }

  void note_packed(const ir::Call* c) {
    if (!ir::is_call_of(c, ir::intrin::ShiftRight) && !ir::is_call_of(c, ir::intrin::BitwiseAnd)) return;
    const Interval v = value(c->args[0]);
    if (v.leaves.size() != 1 || !v.known) return;
    Leaf& row = leaves_.rows[std::size_t(*v.leaves.begin())];
    row.packed |= v.low == row.low && v.high == row.high;
  }

  Interval call(const ir::Call* c) {
    if (ir::is_call_of(c, ir::intrin::IfThenElse)) return choose(c->args[0], c->args[1], c->args[2]);
    Interval out = unknown();
    for (const ir::Expr* a : c->args)
      if (as<ir::PrimType>(a->type)) out = join(out, value(a));
    if (ir::is_call_of(c, ir::intrin::Likely)) return value(c->args[0]);
    note_packed(c);
    if (is_of_positive(c)) demand_positive(value(c->args[0]));
    return unknown(std::move(out.leaves));
  }

  Interval compute(const ir::Expr* e) {
    if (const auto* i = as<ir::IntImm>(e)) return made(double(i->value), double(i->value), {});
    if (const auto* f = as<ir::FloatImm>(e)) {
      Interval out = unknown();
      out.not_negative = f->value >= 0;
      return out;
    }
    if (const auto* v = as<ir::Var>(e)) {
      const auto it = variables.find(v);
      return it == variables.end() ? unknown() : it->second;
    }
    if (const auto* l = as<ir::BufferLoad>(e)) return load(l);
    if (const auto* b = as<ir::BinaryExpr>(e)) return binary(b);
    if (const auto* c = as<ir::CastExpr>(e)) {
      const Interval a = value(c->value);
      return e->dtype().is_integral() == c->value->dtype().is_integral() ? a : unknown(a.leaves);
    }
    if (const auto* n = as<ir::NotExpr>(e)) {
      const Interval a = value(n->a);
      return a.known && a.low == a.high ? Interval::of(!a.low, !a.low) : Interval::of(0, 1);
    }
    if (const auto* s = as<ir::SelectExpr>(e)) return choose(s->cond, s->true_value, s->false_value);
    if (const auto* b = as<ir::Broadcast>(e)) return value(b->value);
    if (const auto* r = as<ir::Ramp>(e)) {
      const Interval base = value(r->base);
      const Interval stride = value(r->stride);
      const int lanes = std::max<int>(1, e->dtype().lanes);
      if (!base.known || !stride.known) return unknown(both(base, stride));
      const Interval last = made(double(stride.low) * (lanes - 1), double(stride.high) * (lanes - 1), stride.leaves);
      if (!last.known) return unknown(both(base, stride));
      return made(double(base.low + std::min<std::int64_t>(0, last.low)),
                  double(base.high + std::max<std::int64_t>(0, last.high)), both(base, last));
    }
    if (const auto* c = as<ir::Call>(e)) return call(c);
    return unknown();
  }

  // ---- statements ----

  void stmt(const ir::Stmt* s) {
    if (!s || --leaves_.budget < 0) return;
    support::poll();
    if (const auto* st = as<ir::SeqStmt>(s)) {
      for (const ir::Stmt* each : st->stmts) stmt(each);
    } else if (const auto* st = as<ir::ForStmt>(s)) {
      loop(st);
    } else if (const auto* st = as<ir::BufferStore>(s)) {
      access(st->buffer, st->indices, st);
      write(st->buffer, value(st->value));
      note_terms(st);
    } else if (const auto* st = as<ir::SBlockRealize>(s)) {
      for (std::size_t i = 0; i < st->iter_values.size() && i < st->block->iter_vars.size(); ++i)
        variables[st->block->iter_vars[i].var] = value(st->iter_values[i]);
      block(st->block);
    } else if (const auto* st = as<ir::SBlock>(s)) {
      block(st);
    } else if (const auto* st = as<ir::IfThenElse>(s)) {
      const Interval c = value(st->cond);
      const bool decided = c.known && c.low == c.high;
      if (!decided || c.low) stmt(st->then_case);
      if (!decided || !c.low) stmt(st->else_case);
    } else if (const auto* st = as<ir::WhileStmt>(s)) {
      value(st->cond);
      stmt(st->body);
    } else if (const auto* st = as<ir::BindStmt>(s)) {
      variables[st->var] = value(st->value);
    } else if (const auto* st = as<ir::Evaluate>(s)) {
      value(st->value);
      pass_memory(st->value);
    } else if (const auto* st = as<ir::AttrStmt>(s)) {
      if (st->thread_var) {
        const Interval extent = value(st->value);
        const Interval all = made(0, double(extent.high) - 1, extent.leaves);
        variables[st->thread_var] = extent.known ? all : unknown(extent.leaves);
      }
      stmt(st->body);
    } else if (const auto* st = as<ir::DeclBuffer>(s)) {
      if (const auto* v = st->data ? as<ir::Var>(st->data) : nullptr; v && st->buffer->data != v)
        same_[st->buffer->data ? static_cast<const ir::Node*>(st->buffer->data) : st->buffer] = v;
    }
  }

  // `c[i] = c[i] + a[i, k] * b[k]`: of two leaves the second one is the weights.
  void note_terms(const ir::BufferStore* st) {
    const auto* sum = as<ir::BinaryExpr>(st->value);
    if (!sum || sum->kind != BinaryKind::Add || !sum->dtype().is_float()) return;
    const auto* held = as<ir::BufferLoad>(sum->a);
    const auto* product = as<ir::BinaryExpr>(sum->b);
    if (!held || held->buffer != st->buffer || !product || product->kind != BinaryKind::Mul) return;
    for (const ir::Expr* factor : {product->b, product->a}) {
      const int leaf = value(factor).same;
      if (leaf < 0) continue;
      Leaf& row = leaves_.rows[std::size_t(leaf)];
      row.terms = std::max(row.terms, terms_of(factor, st));
      return;
    }
  }

  // The number of values of the variables in a factor that are not in the indices of the sum.
  std::int64_t terms_of(const ir::Expr* factor, const ir::BufferStore* sum) {
    std::vector<const ir::Var*> of_sum, of_factor;
    for (const ir::Expr* index : sum->indices) ir::collect_vars(index, of_sum);
    ir::collect_vars(factor, of_factor);
    Interval terms = Interval::of(1, 1);
    for (const ir::Var* v : of_factor) {
      const auto it = variables.find(v);
      if (it == variables.end() || std::find(of_sum.begin(), of_sum.end(), v) != of_sum.end()) continue;
      const Interval& all = it->second;
      if (all.known && terms.known) terms = made(1, double(terms.high) * double(all.high - all.low + 1), {});
    }
    return terms.known ? terms.high : 0;
  }

  void loop(const ir::ForStmt* st) {
    const Interval min = value(st->min);
    const Interval extent = value(st->extent);
    Interval at = unknown(both(min, extent));
    if (min.known && extent.known && extent.high < 1) return;  // it never runs
    if (min.known && extent.known) at = made(double(min.low), double(min.high + extent.high - 1), at.leaves);
    variables[st->var] = at;
    stmt(st->body);
  }

  void block(const ir::SBlock* b) {
    for (const ir::MatchBufferRegion& m : b->match_buffers)
      same_[m.buffer->data ? static_cast<const ir::Node*>(m.buffer->data) : m.buffer] = key(m.source.buffer);
    stmt(b->init);
    stmt(b->body);
  }

  // The first write to a buffer with unknown contents defines the range, later ones extend it. A range that still grows
  // in the second round is that of a sum, whose end is not known.
  void write(const ir::Buffer* b, const Interval& v) {
    const ir::Node* k = key(b);
    Interval& held = contents_[k];
    const bool first = written_.insert(k).second && !held.known && held.leaves.empty() && held.same < 0;
    const Interval before = held;
    held = first ? v : join(held, v);
    if (!again_ || !before.known || (held.known && held.low == before.low && held.high == before.high)) return;
    for (const int leaf : held.leaves) leaves_.rows[std::size_t(leaf)].vague = true;
  }

  // Memory that a call is given, and of which nothing is known, depends on all that the call is given.
  void pass_memory(const ir::Expr* e) {
    if (!as<ir::Call>(e)) return;
    std::set<int> leaves;
    std::vector<Interval*> open;
    ir::walk(e, [&](const ir::Node* n) {
      const auto* load = as<ir::BufferLoad>(n);
      const auto* v = as<ir::Var>(n);
      const auto it = load ? contents_.find(key(load->buffer)) : v ? contents_.find(key_of(v)) : contents_.end();
      if (it == contents_.end()) return true;
      leaves.insert(it->second.leaves.begin(), it->second.leaves.end());
      if (!it->second.known && it->second.leaves.empty()) open.push_back(&it->second);
      return true;
    });
    for (Interval* held : open) *held = unknown(leaves);
  }

  const ir::PrimFunc* f_;
  Leaves& leaves_;
  int depth_ = 0;
  bool again_ = false;  // the second round
  std::unordered_map<const ir::Node*, Interval> contents_;
  std::unordered_map<const ir::Node*, const ir::Node*> same_;
  std::unordered_set<const ir::Node*> written_;
};

}  // namespace

Interval join(const Interval& a, const Interval& b) {
  if (!a.known || !b.known) {
    Interval out = unknown(both(a, b));
    if (a.same == b.same) out.same = a.same;
    out.not_negative = a.not_negative && b.not_negative;
    return out;
  }
  return made(double(std::min(a.low, b.low)), double(std::max(a.high, b.high)), both(a, b));
}

Interval Leaves::interval(int leaf) const {
  return {true, rows[std::size_t(leaf)].low, rows[std::size_t(leaf)].high, {leaf}, -1, false};
}

void Leaves::bound(const Interval& index, std::int64_t extent, const ir::Node* at) {
  if (extent < 1 || hopeless.contains(at)) return;
  for (const int leaf : index.leaves) {
    Leaf& row = rows[std::size_t(leaf)];
    if (!index.known) row.vague = true;
    const bool as_it_is = index.known && index.leaves.size() == 1 && index.low == row.low && index.high == row.high;
    if (as_it_is && (row.reach == 0 || extent < row.reach)) row.reach = extent;
  }
  if (!index.known || (index.low >= 0 && index.high < extent)) return;
  outside_[at].insert(index.leaves.begin(), index.leaves.end());
}

void Leaves::not_zero(const Interval& divisor, const ir::Node* at) {
  if (!divisor.known || divisor.leaves.empty() || hopeless.contains(at) || divisor.low > 0 || divisor.high < 0) return;
  zero_[at].insert(divisor.leaves.begin(), divisor.leaves.end());
}

// Narrows the leaves by the findings of the round, each once. An access that no numbers make valid gives no information
// about them: it is left out, and all conclusions are drawn again.
bool Leaves::settle() {
  std::set<int> lower, raise;
  std::size_t given_up = 0;
  const auto collect = [&](const Found& found, std::set<int>& to, const auto& can_move) {
    for (const auto& [at, leaves] : found) {
      std::set<int> movable;
      for (const int leaf : leaves)
        if (can_move(rows[std::size_t(leaf)])) movable.insert(leaf);
      if (movable.empty()) given_up += hopeless.insert(at).second;
      to.insert(movable.begin(), movable.end());
    }
  };
  collect(outside_, lower, [](const Leaf& row) { return row.high > 0; });
  collect(zero_, raise, [](const Leaf& row) { return row.low == 0 && row.high > 0; });
  const bool moved = !outside_.empty() || !zero_.empty();
  outside_.clear();
  zero_.clear();
  if (given_up > 0) {
    std::fill(rows.begin(), rows.end(), Leaf{});
    return true;
  }
  for (const int leaf : raise) rows[std::size_t(leaf)].low = 1;
  for (const int leaf : lower) {
    Leaf& row = rows[std::size_t(leaf)];
    --row.high;
    row.low = std::min(row.low, row.high);
  }
  return moved;
}

void visit_kernel(const ir::PrimFunc* f, std::vector<KernelArgument>& args, Leaves& leaves) {
  KernelVisit(f, leaves).run(args);
}

Interval interval_of(const ir::Expr* e, const VariableInterval& variables, Leaves& leaves) {
  KernelVisit visit(nullptr, leaves);
  visit.variables = variables;
  return visit.value(e);
}

}  // namespace rldb::session
