// Scans: each element from the one before it along an axis (cumsum, cumprod), written as rows of positions in memory,
// one after another. Rows are independent, so lanes are rows: those that are neighbours in memory are vectors as they
// are; along the last axis, square pieces of 16 rows are transposed in registers. Each row keeps its order.
#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/prover.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/position.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;
using ir::prove::Poly;

namespace {

// Index arithmetic as polynomials; quotients and remainders are symbols, the same for equal ones.
class Positions {
 public:
  Poly of(const ir::Expr* e, int depth = 0) {
    constexpr int kDeep = 40;
    if (depth > kDeep || e->dtype() != ir::DType::Int(64)) return Poly::invalid();
    if (const auto n = ir::const_int(e)) return Poly(*n);
    const auto* b = as<ir::BinaryExpr>(e);
    if (b && b->kind == BinaryKind::Add) return of(b->a, depth + 1) + of(b->b, depth + 1);
    if (b && b->kind == BinaryKind::Sub) return of(b->a, depth + 1) - of(b->b, depth + 1);
    if (b && b->kind == BinaryKind::Mul) return of(b->a, depth + 1) * of(b->b, depth + 1);
    return Poly::of(symbol(e));
  }

 private:
  ir::prove::Symbol symbol(const ir::Expr* e) {
    for (std::size_t i = 0; i < atoms_.size(); ++i)
      if (ir::expr_equal(atoms_[i], e)) return ir::prove::Symbol(i);
    atoms_.push_back(e);
    return ir::prove::Symbol(atoms_.size() - 1);
  }
  std::vector<const ir::Expr*> atoms_;
};

struct Scan {
  const ir::ForStmt* rows = nullptr;   // one after another
  const ir::ForStmt* steps = nullptr;  // from the second element of a row
  const ir::BufferStore *first = nullptr, *next = nullptr;
  const ir::Expr* some = nullptr;  // there is an element; null: there is
  std::size_t axis = 0;
  std::size_t along = 0;  // the dimension along which lanes lie
  // Loads of other buffers in `next`: 1 at the element, 0 at the one before.
  std::vector<std::pair<const ir::BufferLoad*, std::int64_t>> offsets;
  const ir::Buffer* out() const { return next->buffer; }
  const ir::Expr* extent() const { return out()->shape[axis]; }
};

class ScanMatcher {
 public:
  ScanMatcher(const Scene& scene, Scan& s) : ctx_(scene.ctx), scene_(scene), s_(s) {}

  bool run(const ir::ForStmt* loop) {
    if (!shape_of(loop)) return false;
    for (std::size_t axis = s_.out()->shape.size(); axis-- > 0;) {
      s_.axis = axis;
      s_.offsets.clear();
      if (fits()) return find_lanes();
    }
    return false;
  }

 private:
  using E = const ir::Expr*;

  static bool is_plain(const ir::ForStmt* l) {
    const bool kind = l->for_kind == ir::ForKind::Serial || l->for_kind == ir::ForKind::Parallel;
    return kind && !l->step && l->annotations.empty() && ir::is_const(l->min, 0) &&
           l->var->dtype() == ir::DType::Int(64);
  }

  bool shape_of(const ir::ForStmt* loop) {
    const ir::Stmt* body = loop->body;
    if (const auto* test = as<ir::IfThenElse>(body); test && !test->else_case) {
      s_.some = test->cond;
      body = test->then_case;
    }
    const auto* seq = as<ir::SeqStmt>(body);
    if (!seq || seq->stmts.size() != 2) return false;
    s_.rows = loop;
    s_.first = as<ir::BufferStore>(seq->stmts[0]);
    s_.steps = as<ir::ForStmt>(seq->stmts[1]);
    s_.next = s_.steps ? as<ir::BufferStore>(s_.steps->body) : nullptr;
    if (!s_.first || !s_.next || !is_plain(loop) || !is_plain(s_.steps)) return false;
    if (s_.steps->for_kind != ir::ForKind::Serial) return false;
    if (s_.first->buffer != s_.out() || s_.first->predicate || s_.next->predicate) return false;
    if (s_.some && (mentions(s_.some, loop->var) || !is_guard(s_.some))) return false;
    return is_compact(s_.out()) && s_.out()->shape.size() > 1 && has_vector_form(s_.first->value) &&
           has_vector_form(s_.next->value);
  }
  bool is_guard(E e) {
    const auto* test = as<ir::BinaryExpr>(e);
    return test && test->kind == BinaryKind::LT && ir::is_const(test->a, 0);
  }
  bool is_compact(const ir::Buffer* b) const {
    const ir::DType t = b->dtype;
    return b->strides.empty() && t.lanes == 1 && t.bits >= 8 && !t.is_bool() && !t.is_handle() &&
           !scene_.views.contains(b);
  }

  // Whether the positions are those of a scan along the axis.
  bool fits() {
    const ir::Buffer* out = s_.out();
    const auto dims = std::span<const E>(out->shape.begin(), out->shape.size());
    const E before = ir::product(ctx_, dims.first(s_.axis)), after = ir::product(ctx_, dims.subspan(s_.axis + 1));
    const E extent = s_.extent(), row = s_.rows->var;
    if (!same(s_.rows->extent, ir::mul(ctx_, before, after))) return false;
    if (!same(s_.steps->extent, ir::sub(ctx_, extent, ctx_.i64(1)))) return false;
    const auto n = ir::const_int(extent);
    if (n ? *n < 1 : !s_.some || !same(as<ir::BinaryExpr>(s_.some)->b, extent)) return false;
    const E start = ir::add(ctx_, ir::mul(ctx_, ir::mul(ctx_, ir::floor_div(ctx_, row, after), extent), after),
                            ir::floor_mod(ctx_, row, after));
    first_ = positions_.of(start);
    step_ = positions_.of(after);
    if (!first_.valid() || !step_.valid()) return false;
    if (offset_of(out, s_.first->indices, false) != 0 || offset_of(out, s_.next->indices, true) != 1) return false;
    return loads_fit(s_.first->value, false) && loads_fit(s_.next->value, true);
  }
  bool same(E a, E b) {
    const Poly x = positions_.of(a), y = positions_.of(b);
    return x.valid() && y.valid() && x == y;
  }

  // How many elements after the row's first one (in `next`: after element number k).
  std::optional<std::int64_t> offset_of(const ir::Buffer* b, ir::Span<const E> indices, bool in_steps) {
    const E at = position_of(b, indices);
    if (!at) return std::nullopt;
    const Poly p = positions_.of(at);
    Poly start = first_;
    if (in_steps) start = start + positions_.of(s_.steps->var) * step_;
    if (!p.valid() || !start.valid()) return std::nullopt;
    if (p == start) return 0;
    if (p == start + step_) return 1;
    return std::nullopt;
  }

  bool loads_fit(E value, bool in_steps) {
    bool fits = true;
    ir::walk(value, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) {
        fits = fits && load_fits(l, in_steps);
        return false;
      }
      if (n == s_.rows->var || n == s_.steps->var) fits = false;
      return fits;
    });
    return fits;
  }
  bool load_fits(const ir::BufferLoad* l, bool in_steps) {
    const ir::Buffer *b = l->buffer, *out = s_.out();
    if (b != out && b->data == out->data) return false;
    if (l->predicate || !is_compact(b) || b->shape.size() != out->shape.size()) return false;
    for (std::size_t i = 0; i < b->shape.size(); ++i)
      if (!ir::expr_equal(b->shape[i], out->shape[i])) return false;
    const auto offset = offset_of(b, l->indices, in_steps);
    if (b == out) return in_steps && offset == 0;
    if (!offset || (!in_steps && *offset != 0)) return false;
    if (in_steps) s_.offsets.emplace_back(l, *offset);
    return true;
  }

  // The last dimension, or if that is the axis, one before it with enough rows.
  bool find_lanes() {
    constexpr std::int64_t kLeastNeighbours = 2, kLeastRows = 4;
    const ir::Buffer* out = s_.out();
    const auto enough = [&](std::size_t dim, std::int64_t least) {
      return ir::const_int(out->shape[dim]).value_or(least) >= least;
    };
    s_.along = out->shape.size() - 1;
    if (s_.along != s_.axis) return enough(s_.along, kLeastNeighbours);
    while (s_.along > 0)
      if (enough(--s_.along, kLeastRows)) return true;
    return false;
  }

  ir::Context& ctx_;
  const Scene& scene_;
  Scan& s_;
  Positions positions_;
  Poly first_, step_;
};

class ScanWriter {
 public:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  ScanWriter(const Scene& scene, const Scan& s) : b_(scene.ctx), s_(s), along_(s.along) {
    const auto width = std::max<std::int64_t>(4, std::int64_t(s.out()->dtype.bytes()));
    lanes_ = std::max<std::int64_t>(2, std::int64_t(scene.target.vector_bytes) / width);
    for (const auto n = ir::const_int(extent(along_)); n && lanes_ > *n;) lanes_ /= 2;
  }

  std::vector<Stage> run(bool all) {
    std::vector<Stage> out;
    const bool rows = is_rows();
    for (const StepId step : {rows ? StepId::Pack : StepId::CacheWrite, StepId::Vectorize}) {
      if (!all && step != StepId::Vectorize) continue;
      vectors_ = step == StepId::Vectorize;
      allocs_.clear();
      at_.assign(s_.out()->shape.size(), nullptr);
      const S body = around(0);
      out.push_back({step, b_.block(s_.rows, s_.out()->name, allocs_, s_.some ? b_.ctx.if_stmt(s_.some, body) : body)});
    }
    return out;
  }

 private:
  static constexpr std::int64_t kMostVectors = 4;

  bool is_rows() const { return along_ < s_.axis; }
  E extent(std::size_t dim) const { return s_.out()->shape[dim]; }
  std::string name(std::size_t dim) const { return "i" + std::to_string(dim); }

  // The loops that are neither the axis nor that of the lanes, then blocks of lanes.
  S around(std::size_t dim) {
    while (dim < at_.size() && (dim == s_.axis || dim == along_)) ++dim;
    if (dim == at_.size()) return blocks();
    return b_.loop(name(dim), extent(dim), [&](E i) {
      at_[dim] = i;
      return around(dim + 1);
    });
  }

  // Whole blocks, then one that ends with the last row: the rows that it shares are computed again.
  S blocks() {
    const E total = extent(along_);
    const std::int64_t vectors = is_rows() ? 1 : kMostVectors, wide = vectors * lanes_;
    std::vector<S> all{counted(b_.lit(total, 0), b_.whole(total, wide), vectors)};
    if (vectors > 1)
      all.push_back(counted(b_.scaled(b_.whole(total, wide), wide), b_.whole(b_.rest(total, wide), lanes_), 1));
    const E rest = b_.rest(total, lanes_);
    if (ir::is_const(rest, 0)) return b_.seq(all);
    const S last = block(b_.plus(total, -lanes_), 1, lanes_);
    if (ir::const_int(total)) {
      all.push_back(last);
      return b_.seq(all);
    }
    ir::Context& ctx = b_.ctx;
    all.push_back(ctx.if_stmt(ir::compare(ctx, BinaryKind::GT, rest, b_.lit(rest, 0)), last));
    const S few = b_.loop(name(along_) + "_0", total, [&](E i) { return block(i, 1, 1); });
    return ctx.if_stmt(ir::compare(ctx, BinaryKind::GE, total, b_.lit(total, lanes_)), b_.seq(all), few);
  }
  S counted(E start, E count, std::int64_t vectors) {
    if (ir::is_const(count, 0)) return nullptr;
    return b_.loop(name(along_) + "_0", count,
                   [&](E n) { return block(b_.add(start, b_.scaled(n, vectors * lanes_)), vectors, lanes_); });
  }

  S block(E start, std::int64_t vectors, std::int64_t lanes) {
    start_ = start;
    vectors_in_block_ = vectors;
    width_ = lanes;
    local_ = local("_local", {b_.lit(start, vectors * lanes)}, s_.out()->dtype);
    const E zero = b_.lit(start, 0);
    const S first = each([&](E x) { return stored(local_, value(s_.first, zero, nullptr, x), {x}, s_.first); });
    const S begun = each([&](E x) { return written(zero, x, s_.first); });
    return b_.seq({first, begun, is_rows() && lanes > 1 ? pieces() : one_by_one(zero, s_.steps->extent)});
  }

  // Elements of the rows of the block; `start` is the one before the first of them.
  S one_by_one(E start, E count) {
    if (ir::is_const(count, 0)) return nullptr;
    return b_.loop("k", count, [&](E n) {
      const E k = b_.add(start, n);
      const S sum = each([&](E x) { return stored(local_, value(s_.next, k, nullptr, x), {x}, s_.next); });
      const S back = each([&](E x) { return written(b_.plus(k, 1), x, s_.next); });
      return b_.seq({sum, back});
    });
  }

  // ---- rows along the axis, in square pieces ----

  // Pieces begin where vectors of memory do: after the first `lanes` elements.
  S pieces() {
    const E total = s_.steps->extent, lead = ir::min(b_.ctx, total, b_.lit(total, lanes_ - 1));
    const E after = ir::sub(b_.ctx, total, lead), count = b_.whole(after, lanes_);
    std::vector<S> all{one_by_one(b_.lit(total, 0), lead)};
    if (!ir::is_const(count, 0))
      all.push_back(b_.loop("k_0", count, [&](E n) { return piece(b_.add(lead, b_.scaled(n, lanes_))); }));
    const E left = b_.rest(after, lanes_);
    if (!ir::is_const(left, 0)) all.push_back(one_by_one(b_.add(lead, b_.scaled(count, lanes_)), left));
    return b_.seq(all);
  }

  S piece(E start) {
    const auto along = [&](const Build::Body& f) {
      return b_.loop("k_1", start, lanes_, f, vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
    };
    std::vector<S> all;
    tiles_.clear();
    for (const auto& [load, offset] : s_.offsets) {
      const ir::Buffer* tile = local("_rows", {b_.lit(start, lanes_), b_.lit(start, width_)}, load->buffer->dtype,
                                     std::string(load->buffer->name));
      all.push_back(along([&](E k) {
        return each([&](E x) {
          const std::vector<E> at = place(b_.plus(b_.add(start, k), offset), x);
          return stored(tile, b_.ctx.load(load->buffer, at), {k, x}, load);
        });
      }));
      tiles_.push_back(tile);
    }
    const ir::Buffer* results = local("_rows", {b_.lit(start, lanes_), b_.lit(start, width_)}, s_.out()->dtype);
    all.push_back(along([&](E k) {
      const S sum = each([&](E x) { return stored(local_, value(s_.next, start, k, x), {x}, s_.next); });
      const S kept = each([&](E x) { return stored(results, b_.load(local_, {x}), {k, x}, s_.next); });
      return b_.seq({sum, kept});
    }));
    all.push_back(b_.loop(
        name(along_) + "_1", start, width_,
        [&](E x) {
          return b_.loop(
              "k_1", start, lanes_,
              [&](E k) {
                return stored(s_.out(), b_.load(results, {k, x}), place(b_.plus(b_.add(start, k), 1), x), s_.next);
              },
              vectors_ ? ir::ForKind::Vectorized : ir::ForKind::Serial);
        },
        vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial));
    return b_.seq(all);
  }

  // ---- elements ----

  const ir::Buffer* local(const char* suffix, std::vector<E> shape, ir::DType t, std::string of = "") {
    if (of.empty()) of = std::string(s_.out()->name);
    allocs_.push_back(b_.ctx.buffer(b_.ctx.str(of + suffix), shape, t, "local"));
    return allocs_.back();
  }
  // The lanes of the block.
  S each(const Build::Body& f) {
    const std::string lane = name(along_);
    const std::int64_t all = vectors_in_block_ * width_;
    if (!vectors_ || width_ == 1) return b_.loop(lane + "_1", start_, all, f);
    return b_.loop(
        lane + "_1", start_, vectors_in_block_,
        [&](E v) {
          return b_.loop(
              lane + "_2", start_, width_, [&](E l) { return f(b_.add(b_.scaled(v, width_), l)); },
              ir::ForKind::Vectorized);
        },
        ir::ForKind::Unrolled);
  }
  std::vector<E> place(E k, E x) {
    std::vector<E> out = at_;
    out[along_] = b_.add(start_, x);
    out[s_.axis] = k;
    return out;
  }
  // The value of a store with its loads at element `k`, or in the piece that begins at `k`, at `in_piece`.
  E value(const ir::BufferStore* store, E k, E in_piece, E x) {
    LoadsReplaced made(b_.ctx, {}, [&](const ir::BufferLoad* l) -> E {
      if (l->buffer == s_.out()) return b_.load(local_, {x});
      for (std::size_t i = 0; i < s_.offsets.size() && store == s_.next; ++i) {
        if (s_.offsets[i].first != l) continue;
        if (in_piece) return b_.load(tiles_[i], {in_piece, x});
        return b_.ctx.load(l->buffer, place(b_.plus(k, s_.offsets[i].second), x));
      }
      return b_.ctx.load(l->buffer, place(k, x));
    });
    return made.rewrite(store->value);
  }
  S written(E k, E x, const ir::Node* from) { return stored(s_.out(), b_.load(local_, {x}), place(k, x), from); }
  S stored(const ir::Buffer* b, E v, const std::vector<E>& at, const ir::Node* from) {
    S made = b_.ctx.store(b, v, at);
    b_.ctx.set_origin(made, from);
    return made;
  }

  Build b_;
  const Scan& s_;
  bool vectors_ = false;
  std::int64_t lanes_ = 0;
  std::size_t along_;
  std::vector<E> at_;  // of the other dimensions
  // The current block.
  E start_ = nullptr;
  std::int64_t vectors_in_block_ = 1, width_ = 1;
  const ir::Buffer* local_ = nullptr;
  std::vector<const ir::Buffer*> tiles_;  // of the loads in `offsets`
  std::vector<const ir::Buffer*> allocs_;
};

}  // namespace

std::vector<Stage> schedule_scan(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  Scan s;
  if (!ScanMatcher(scene, s).run(loop)) return {};
  return ScanWriter(scene, s).run(scene.all_steps);
}

}  // namespace rldb::schedule
