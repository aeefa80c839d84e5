// An abstract run of one iteration: the boxes of elements that are certainly written, and each read against them.
#include "rldb/schedule/written_first.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;

namespace {

constexpr int kDeepest = 64;

// constant + the sum of factor * variable, or quotient
struct Form {
  std::int64_t constant = 0;
  std::map<const ir::Expr*, std::int64_t> factors;  // none is 0

  std::int64_t factor(const ir::Expr* v) const {
    const auto at = factors.find(v);
    return at == factors.end() ? 0 : at->second;
  }
  bool operator==(const Form&) const = default;
};

bool add(Form& to, const Form& more, std::int64_t times) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(more.constant, times, &product) ||
      __builtin_add_overflow(to.constant, product, &to.constant))
    return false;
  for (const auto& [v, factor] : more.factors) {
    std::int64_t& sum = to.factors[v];
    if (__builtin_mul_overflow(factor, times, &product) || __builtin_add_overflow(sum, product, &sum)) return false;
    if (sum == 0) to.factors.erase(v);
  }
  return true;
}

// From `base` on, `count` elements, times the extent of a loop unless that is null.
struct Side {
  Form base;
  std::int64_t count = 1;
  const ir::Expr* times = nullptr;
};
using Box = std::vector<Side>;

bool same_extent(const ir::Expr* a, const ir::Expr* b) { return a == b || (a && b && ir::structural_equal(a, b)); }

bool same_box(const Box& a, const Box& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Side& x, const Side& y) {
    return x.base == y.base && x.count == y.count && same_extent(x.times, y.times);
  });
}

// A side of E // n pieces of n elements, and the E % n elements behind them, are E elements together; null: they are
// not of this form.
const ir::Expr* whole_of(const Side& pieces, const Side& rest) {
  const auto* q = as<ir::BinaryExpr>(pieces.times);
  const auto* r = as<ir::BinaryExpr>(rest.times);
  if (!q || !r || q->kind != BinaryKind::FloorDiv || r->kind != BinaryKind::FloorMod || rest.count != 1) return nullptr;
  const auto n = ir::const_int(q->b);
  if (!n || *n != pieces.count || ir::const_int(r->b) != n || !ir::structural_equal(q->a, r->a)) return nullptr;
  Form ahead = rest.base;
  if (!add(ahead, pieces.base, -1) || ahead.constant != 0 || ahead.factors.size() != 1) return nullptr;
  const auto& [start, factor] = *ahead.factors.begin();
  return factor == *n && ir::structural_equal(start, q) ? q->a : nullptr;
}

// Extends a box by one that goes on in one direction where it ends, or before.
bool join(Box& box, const Box& next) {
  Side* differs = nullptr;
  for (std::size_t i = 0; i < box.size(); ++i) {
    Side& a = box[i];
    const Side& b = next[i];
    if (a.base == b.base && a.count == b.count && same_extent(a.times, b.times)) continue;
    if (const ir::Expr* all = differs || !a.times || !b.times ? nullptr : whole_of(a, b)) {
      differs = &a;
      a.count = 1;
      a.times = all;
      continue;
    }
    Form ahead = b.base;
    std::int64_t end = 0;
    if (differs || a.times || b.times || !add(ahead, a.base, -1) || !ahead.factors.empty() || ahead.constant < 0 ||
        ahead.constant > a.count || __builtin_add_overflow(ahead.constant, b.count, &end))
      return false;
    differs = &a;
    a.count = std::max(a.count, end);
  }
  return differs != nullptr;
}

// n, or the n of T.min(n, ..).
std::optional<std::int64_t> at_most(const ir::Expr* e, int depth = 0) {
  if (const auto n = ir::const_int(e)) return n;
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b || b->kind != BinaryKind::Min || depth > kDeepest) return std::nullopt;
  const auto x = at_most(b->a, depth + 1), y = at_most(b->b, depth + 1);
  return x && y ? std::min(*x, *y) : x ? x : y;
}

bool holds(const Side& written, const Side& read) {
  Form ahead = read.base;
  if (!add(ahead, written.base, -1) || !ahead.factors.empty() || ahead.constant < 0) return false;
  if (!written.times && read.times) {
    const auto most = at_most(read.times);
    std::int64_t size = 0;
    return most && !__builtin_mul_overflow(read.count, std::max<std::int64_t>(*most, 0), &size) &&
           ahead.constant <= written.count - size;
  }
  if (written.times || read.times)
    return ahead.constant == 0 && read.count == written.count && same_extent(written.times, read.times);
  return ahead.constant <= written.count - read.count;
}

bool mentions(const ir::Expr* e, const ir::Var* v) {
  bool found = false;
  if (e) ir::walk(e, [&](const ir::Node* n) { return !(found = found || n == v); });
  return found;
}

// A quotient in the form that changes with the variable.
bool moves_quotient(const Form& form, const ir::Var* v) {
  return std::any_of(form.factors.begin(), form.factors.end(),
                     [&](const auto& part) { return part.first != v && mentions(part.first, v); });
}

class Iteration {
 public:
  explicit Iteration(const ir::Buffer* buffer) : buffer_(buffer) {}

  bool run(const ir::Stmt* body) {
    visit(body);
    return good_;
  }

 private:
  struct Written {
    Box box;
    std::size_t loops;  // that were open around it
  };

  void visit(const ir::Stmt* s) {
    if (!s || !good_) return;
    if (const auto* seq = as<ir::SeqStmt>(s)) {
      for (const ir::Stmt* each : seq->stmts) visit(each);
    } else if (const auto* loop = as<ir::ForStmt>(s)) {
      visit_loop(loop);
    } else if (const auto* realize = as<ir::SBlockRealize>(s)) {
      visit_block(realize);
    } else if (const auto* branch = as<ir::IfThenElse>(s)) {
      check_reads(branch->cond);
      const std::vector<Written> then_case = visited_apart(branch->then_case);
      const std::vector<Written> else_case = visited_apart(branch->else_case);
      for (const Written& w : then_case)
        if (std::any_of(else_case.begin(), else_case.end(), [&](const Written& o) { return same_box(w.box, o.box); }))
          written_.push_back(w);
    } else if (const auto* store = as<ir::BufferStore>(s)) {
      check_reads(store->value);
      for (const ir::Expr* e : store->indices) check_reads(e);
      if (store->predicate) check_reads(store->predicate);
      if (store->buffer == buffer_ && !store->predicate) note_store(store);
    } else {
      visit_rest(s);
    }
  }

  // About statements of other kinds, and those in them, nothing is taken for written.
  void visit_rest(const ir::Stmt* s) {
    ir::for_each_use(s, [&](const ir::Node* n) {
      if (const auto* inner = as<ir::Stmt>(n))
        (void)visited_apart(inner);
      else
        check_reads(n);
    });
  }

  // The boxes that a statement writes, if it runs; afterwards they do not count as written.
  std::vector<Written> visited_apart(const ir::Stmt* s) {
    const auto before = static_cast<std::ptrdiff_t>(written_.size());
    visit(s);
    std::vector<Written> own(written_.begin() + before, written_.end());
    written_.resize(std::size_t(before));
    return own;
  }

  void visit_block(const ir::SBlockRealize* realize) {
    const ir::SBlock* block = realize->block;
    for (std::size_t i = 0; i < block->iter_vars.size() && i < realize->iter_values.size(); ++i)
      axes_[block->iter_vars[i].var] = realize->iter_values[i];
    for (const ir::Expr* e : realize->iter_values) check_reads(e);
    check_reads(realize->predicate);
    (void)visited_apart(block->init);
    if (ir::is_const(realize->predicate, 1)) return visit(block->body);
    (void)visited_apart(block->body);
  }

  void visit_loop(const ir::ForStmt* loop) {
    check_reads(loop->min);
    check_reads(loop->extent);
    loops_.push_back(loop);
    std::vector<Written> own = visited_apart(loop->body);
    loops_.pop_back();
    for (Written& w : own)
      if (widen(w.box, loop)) {
        w.loops = loops_.size();
        note(std::move(w));
      }
  }

  void note(Written w) {
    Written longest = w;
    for (const Written& before : written_) {
      Written both = before;
      if (both.loops == w.loops && join(both.box, longest.box)) longest = std::move(both);
    }
    const bool joined = !same_box(longest.box, w.box);
    written_.push_back(std::move(w));
    if (joined) written_.push_back(std::move(longest));
  }

  static bool from_zero(const ir::ForStmt* loop) {
    return ir::is_const(loop->min, 0) && !loop->step && loop->for_kind != ir::ForKind::ThreadBinding;
  }

  // The box that all iterations write together; false: they do not fill one, or there may be none.
  static bool widen(Box& box, const ir::ForStmt* loop) {
    Side* in = nullptr;
    for (Side& side : box) {
      if (mentions(side.times, loop->var) || moves_quotient(side.base, loop->var)) return false;
      if (side.base.factor(loop->var) == 0) continue;
      if (in) return false;
      in = &side;
    }
    const auto extent = ir::const_int(loop->extent);
    if (!in) return extent && *extent > 0;
    if (!from_zero(loop) || in->times || in->base.factor(loop->var) != in->count) return false;
    in->base.factors.erase(loop->var);
    if (!extent) return in->times = loop->extent, true;
    return *extent >= 0 && !__builtin_mul_overflow(in->count, *extent, &in->count);
  }

  // A box around what all iterations read together.
  static bool widen_read(Side& side, const ir::ForStmt* loop) {
    if (mentions(side.times, loop->var)) {  // a number that changes, but stays below another
      const auto most = at_most(side.times);
      if (!most || __builtin_mul_overflow(side.count, std::max<std::int64_t>(*most, 0), &side.count)) return false;
      side.times = nullptr;
    }
    if (moves_quotient(side.base, loop->var)) return false;
    const std::int64_t factor = side.base.factor(loop->var);
    if (factor == 0) return true;
    if (!from_zero(loop) || side.times || factor < 0) return false;
    side.base.factors.erase(loop->var);
    const auto extent = ir::const_int(loop->extent);
    if (!extent) return side.times = loop->extent, factor == side.count;
    std::int64_t last = 0;
    return *extent >= 1 && !__builtin_mul_overflow(factor, *extent - 1, &last) &&
           !__builtin_add_overflow(side.count, last, &side.count);
  }

  void check_reads(const ir::Node* n) {
    if (!n) return;
    ir::walk(n, [&](const ir::Node* part) {
      if (const auto* load = as<ir::BufferLoad>(part); load && load->buffer == buffer_)
        good_ = good_ && is_written(load);
      return good_;
    });
  }

  bool is_written(const ir::BufferLoad* load) const {
    const auto read = point(load->indices);
    return std::any_of(written_.begin(), written_.end(), [&](const Written& w) {
      if (!read) return is_within(load->indices, w);
      Box box = *read;
      for (std::size_t i = loops_.size(); i-- > w.loops;)
        for (Side& side : box)
          if (!widen_read(side, loops_[i])) return false;
      return std::equal(w.box.begin(), w.box.end(), box.begin(), box.end(), holds);
    });
  }

  // The same where an index is no sum of loops (the start of a vector is at most that of the last one).
  bool is_within(ir::Span<const ir::Expr*> indices, const Written& w) const {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const Side& side = w.box[i];
      const auto range = range_of(indices[i], w.loops, 0);
      if (!range || side.times || !side.base.factors.empty() || range->low < side.base.constant) return false;
      std::int64_t size = 0;
      if (__builtin_sub_overflow(range->high, side.base.constant, &size) || size >= side.count) return false;
    }
    return true;
  }

  struct Range {
    std::int64_t low, high;
  };
  // Of an index over all iterations of the loops from number `loops` on.
  std::optional<Range> range_of(const ir::Expr* e, std::size_t loops, int depth) const {
    if (depth > kDeepest) return std::nullopt;
    if (const auto n = ir::const_int(e)) return Range{*n, *n};
    if (const auto* v = as<ir::Var>(e)) {
      if (const auto axis = axes_.find(v); axis != axes_.end()) return range_of(axis->second, loops, depth + 1);
      for (std::size_t i = loops; i < loops_.size(); ++i) {
        const auto extent = ir::const_int(loops_[i]->extent);
        if (loops_[i]->var == v && from_zero(loops_[i]) && extent && *extent >= 1) return Range{0, *extent - 1};
      }
      return std::nullopt;
    }
    if (const auto* c = as<ir::CastExpr>(e))
      return keeps_value(c) ? range_of(c->value, loops, depth + 1) : std::nullopt;
    const auto* b = as<ir::BinaryExpr>(e);
    if (!b) return std::nullopt;
    const auto x = range_of(b->a, loops, depth + 1), y = range_of(b->b, loops, depth + 1);
    if (!x || !y) return std::nullopt;
    if (b->kind == BinaryKind::Min) return Range{std::min(x->low, y->low), std::min(x->high, y->high)};
    if (b->kind == BinaryKind::Max) return Range{std::max(x->low, y->low), std::max(x->high, y->high)};
    Range made{};
    if (b->kind == BinaryKind::Add && !__builtin_add_overflow(x->low, y->low, &made.low) &&
        !__builtin_add_overflow(x->high, y->high, &made.high))
      return made;
    const bool scaled = b->kind == BinaryKind::Mul && y->low == y->high && y->low >= 0;
    if (scaled && !__builtin_mul_overflow(x->low, y->low, &made.low) &&
        !__builtin_mul_overflow(x->high, y->low, &made.high))
      return made;
    return std::nullopt;
  }

  void note_store(const ir::BufferStore* store) {
    if (auto box = point(store->indices)) note({std::move(*box), loops_.size()});
  }

  std::optional<Box> point(ir::Span<const ir::Expr*> indices) const {
    Box box;
    for (const ir::Expr* e : indices) {
      Side side;
      if (!add_expr(side.base, e, 1, 0)) return std::nullopt;
      box.push_back(std::move(side));
    }
    return box;
  }

  bool add_expr(Form& to, const ir::Expr* e, std::int64_t times, int depth) const {
    if (depth > kDeepest) return false;
    if (const auto n = ir::const_int(e)) return add(to, {*n, {}}, times);
    if (const auto* v = as<ir::Var>(e)) {
      const auto axis = axes_.find(v);
      return axis == axes_.end() ? add(to, {0, {{v, 1}}}, times) : add_expr(to, axis->second, times, depth + 1);
    }
    if (const auto* c = as<ir::CastExpr>(e)) return keeps_value(c) && add_expr(to, c->value, times, depth + 1);
    const auto* b = as<ir::BinaryExpr>(e);
    if (!b) return false;
    if (b->kind == BinaryKind::Add) return add_expr(to, b->a, times, depth + 1) && add_expr(to, b->b, times, depth + 1);
    const auto by = ir::const_int(b->b);
    if (b->kind == BinaryKind::FloorDiv && by && *by > 0) return is_plain(b) && add(to, {0, {{b, 1}}}, times);
    std::int64_t product = 0;
    return b->kind == BinaryKind::Mul && by && !__builtin_mul_overflow(times, *by, &product) &&
           add_expr(to, b->a, product, depth + 1);
  }

  // Of numbers and variables that are what they look like: an axis stands for what its block gives it.
  bool is_plain(const ir::Expr* e) const {
    bool plain = true;
    ir::walk(e, [&](const ir::Node* n) {
      const auto* v = as<ir::Var>(n);
      const bool known = v ? !axes_.contains(v) : as<ir::IntImm>(n) || as<ir::BinaryExpr>(n);
      return plain = plain && known;
    });
    return plain;
  }

  static bool keeps_value(const ir::CastExpr* c) {
    const ir::DType from = c->value->dtype(), to = c->dtype();
    return from.is_int() && to.is_int() && to.bits >= from.bits;
  }

  const ir::Buffer* buffer_;
  std::vector<const ir::ForStmt*> loops_;                     // open, within the iteration
  std::unordered_map<const ir::Var*, const ir::Expr*> axes_;  // of blocks
  std::vector<Written> written_;
  bool good_ = true;
};

}  // namespace

bool writes_before_reads(const ir::ForStmt* loop, const ir::Buffer* buffer) {
  return Iteration(buffer).run(loop->body);
}

}  // namespace rldb::schedule
