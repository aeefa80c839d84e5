// Reductions along rows whose order is free: lanes are elements of one row, so nothing is transposed, and one row is as
// fast as many.
//
// The order is free for integers, which wrap, for sums and products of floats with `--fp=fast`, and for maxima and
// minima of float32 but for two cases: a NaN, and zeros of both signs. Their bits, as integers, are ordered like the
// numbers, apart from the sign; the largest and the smallest of them as signed and the largest as unsigned integers
// tell the extreme and whether there was such a case. If so, the row is reduced again in the text's order.
#include <algorithm>

#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;

namespace {

constexpr std::int64_t kLeastVectors = 16;  // of a row that is worth putting its lanes together, where rows are many
constexpr std::int64_t kLeastOfFew = 2;     // where they are few
constexpr std::int64_t kSums = 4;           // vectors of partial sums of floats: each takes cycles
constexpr std::int64_t kOthers = 2;
constexpr std::int64_t kMostElements = 64;        // in a vector
constexpr std::int64_t kInfinity = 0x7f800000;    // larger, without the sign: NaN
constexpr std::int64_t kMinusZero = 0x80000000L;  // unsigned; larger: the numbers below 0

// One result: the terms that are put together, and from which vectors of them it is read.
struct FreeResult {
  const ReductionNest::Result* text = nullptr;
  BinaryKind op = BinaryKind::Add;
  const ir::Expr* term = nullptr;
  ir::DType sum;            // of the partial results
  bool is_extreme = false;  // of floats
};

struct RowLanes {
  ReductionNest nest;
  int k = -1;  // the innermost loop that reduces
  std::int64_t lanes = 0;
  std::vector<FreeResult> results;
};

// Whether the terms have lanes along k, in dtypes of at most so many bytes, which become those of the widest.
bool has_lanes(const ir::Expr* term, const ir::Var* k, std::size_t& bytes) {
  bool fits = has_vector_form(term), moves = false;
  ir::walk(term, [&](const ir::Node* n) {
    if (as<ir::SelectExpr>(n) || n == k) fits = false;
    if (const auto* c = as<ir::Call>(n)) fits = fits && !ir::is_call_of(c, ir::intrin::IfThenElse);
    if (const auto* e = as<ir::Expr>(n); e && e->type && !as<ir::Op>(n)) {
      const ir::DType t = e->dtype();
      if (t.is_float()) bytes = std::max<std::size_t>({bytes, t.bytes(), sizeof(float)});
    }
    const auto* l = as<ir::BufferLoad>(n);
    if (!l || !fits) return fits;
    const ir::DType t = l->buffer->dtype;
    const bool still = !moves_with(l, k);
    moves = moves || !still;
    bytes = std::max(bytes, t.bytes());
    fits = still || (runs_along(l, k) && t.bits >= 8 && !t.is_bool());
    for (const ir::Expr* i : l->indices)
      ir::walk(i, [&](const ir::Node* part) { return fits = fits && !as<ir::BufferLoad>(part); });
    return false;
  });
  return fits && moves;
}

std::optional<FreeResult> match_free(const Scene& scene, const ReductionNest& nest, const ReductionNest::Result& r) {
  const ir::DType t = r.update->buffer->dtype;
  const auto* b = as<ir::BinaryExpr>(r.value);
  if (!b || t.bits < 8 || t.is_bool()) return std::nullopt;
  const auto is_result = [&](const ir::Expr* e) {
    const auto* l = as<ir::BufferLoad>(e);
    return l && l->buffer == r.update->buffer;
  };
  if (is_result(b->a) == is_result(b->b)) return std::nullopt;
  FreeResult f{&r, b->op(), is_result(b->a) ? b->b : b->a, t, false};
  const bool adds = f.op == BinaryKind::Add || f.op == BinaryKind::Mul;
  const bool chooses = f.op == BinaryKind::Max || f.op == BinaryKind::Min;
  f.is_extreme = chooses && t == ir::DType::Float(32) && nest.results.size() == 1;
  const bool is_integer = t.is_int() || t.is_uint();
  const bool is_fast = scene.target.fast_sums && t.is_float() && t.bits >= 16 && adds;
  if (is_fast && t.bits == 16) {
    f.sum = ir::DType::Float(32);
    f.term = ir::cast_to(scene.ctx, f.sum, f.term);
  }
  if (!f.is_extreme && !is_fast && !(is_integer && (adds || chooses))) return std::nullopt;
  bool reads = false;
  ir::walk(f.term, [&](const ir::Node* n) {
    const auto* l = as<ir::BufferLoad>(n);
    for (const ReductionNest::Result& other : nest.results)
      reads = reads || (l && l->buffer->data == other.update->buffer->data);
    return !reads;
  });
  return reads ? std::nullopt : std::optional(f);
}

// Rows of the nest, or as many as are enough if their number is unknown.
std::int64_t rows_in(const ReductionNest& nest, std::int64_t enough) {
  std::int64_t rows = 1;
  for (std::size_t n = 0; n < nest.loops.size() && rows < enough; ++n)
    if (!nest.is_reduce(int(n)))
      rows = std::max<std::int64_t>(ir::const_int(nest.extent(int(n))).value_or(enough), 0) * rows;
  return rows;
}

std::optional<RowLanes> match_row_lanes(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_reductions(loop);
  if (!nest) return std::nullopt;
  RowLanes r;
  r.nest = std::move(*nest);
  for (std::size_t n = 0; n < r.nest.loops.size(); ++n)
    if (r.nest.is_reduce(int(n))) r.k = int(n);
  const ir::Var* k = r.nest.axes[std::size_t(r.k)]->var;
  std::size_t bytes = 1;
  for (const ReductionNest::Result& result : r.nest.results) {
    if (scene.views.contains(result.update->buffer)) return std::nullopt;
    const auto free = match_free(scene, r.nest, result);
    bytes = std::max(bytes, result.update->buffer->dtype.bytes());
    if (!free || !has_lanes(free->term, k, bytes)) return std::nullopt;
    r.results.push_back(*free);
  }
  r.lanes = std::min<std::int64_t>(kMostElements, std::int64_t(scene.target.vector_bytes / bytes));
  const bool many = rows_in(r.nest, r.lanes) >= r.lanes;
  const std::int64_t least = r.lanes * (many ? kLeastVectors : kLeastOfFew);
  if (r.lanes < 2 || ir::const_int(r.nest.extent(r.k)).value_or(least) < least) return std::nullopt;
  return r;
}

class RowLanesWriter {
 public:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  RowLanesWriter(const Scene& scene, const RowLanes& r) : ctx_(scene.ctx), build_(scene.ctx), r_(r) {
    const bool sums = r.results[0].sum.is_float() && !r.results[0].is_extreme;
    wide_ = sums ? kSums : kOthers;
    if (const auto n = ir::const_int(length())) wide_ = std::min(wide_, *n / r.lanes);
    for (const FreeResult& f : r.results) add_parts(f);
  }

  // `shorter`: for rows that are too short; null: there are none.
  S run(const ir::ForStmt* from, S shorter) {
    S body = around(0);
    const E least = lit(shorter ? kLeastVectors * r_.lanes : 1);
    E worth = runs(length()) ? nullptr : ir::compare(ctx_, BinaryKind::GE, length(), least);
    E some = nullptr;
    // No iteration, no init.
    for (std::size_t n = 0; n < r_.nest.loops.size(); ++n)
      if (E e = r_.nest.extent(int(n)); r_.nest.is_reduce(int(n)) && int(n) != r_.k && !runs(e))
        some = build_.both(some, ir::compare(ctx_, BinaryKind::GT, e, build_.lit(e, 0)));
    if (some) body = ctx_.if_stmt(some, body);
    if (!shorter && worth) body = ctx_.if_stmt(worth, body);
    S made = build_.block(from, allocs_, body, true);
    return shorter && worth ? ctx_.if_stmt(worth, made, shorter) : made;
  }

 private:
  // Vectors of partial results.
  struct Part {
    BinaryKind op;
    E term, start;
    const ir::Buffer* local;
  };

  E length() const { return r_.nest.extent(r_.k); }
  E lit(std::int64_t n) { return build_.lit(length(), n); }
  E as_bits(ir::DType t, E e) { return ctx_.intrin(t, ir::intrin::Reinterpret, {e}); }

  void add_parts(const FreeResult& f) {
    const ir::DType t = f.sum;
    E init = f.text->init->value;
    if (f.is_extreme) {
      const ir::DType i = ir::DType::Int(32), u = ir::DType::UInt(32);
      add_part(f, "_high", BinaryKind::Max, as_bits(i, f.term), as_bits(i, init));
      add_part(f, "_low", BinaryKind::Min, as_bits(i, f.term), as_bits(i, init));
      return add_part(f, "_far", BinaryKind::Max, as_bits(u, f.term), as_bits(u, init));
    }
    const std::int64_t neutral = f.op == BinaryKind::Mul ? 1 : 0;
    const bool chooses = f.op == BinaryKind::Max || f.op == BinaryKind::Min;
    E start = chooses        ? init
              : t.is_float() ? static_cast<E>(ctx_.float_imm(t, double(neutral)))
                             : ctx_.int_imm(t, neutral);
    add_part(f, "_lanes", f.op, f.term, start);
  }
  void add_part(const FreeResult& f, const char* suffix, BinaryKind op, E term, E start) {
    const E shape[] = {lit(wide_), lit(r_.lanes)};
    const std::string name = std::string(f.text->update->buffer->name) + suffix;
    allocs_.push_back(ctx_.buffer(ctx_.str(name), shape, start->dtype(), "local"));
    parts_.push_back({op, term, start, allocs_.back()});
  }

  void bind(int n, E value) {
    axes_[r_.nest.axes[std::size_t(n)]->var] = value;
    axes_[r_.nest.loops[std::size_t(n)]->var] = value;
  }
  std::string name(int n) const { return std::string(r_.nest.loops[std::size_t(n)]->var->name); }

  S around(std::size_t n) {
    while (n < r_.nest.loops.size() && r_.nest.is_reduce(int(n))) ++n;
    if (n == r_.nest.loops.size()) return row();
    const auto body = [&](E v) {
      bind(int(n), v);
      return around(n + 1);
    };
    return build_.loop(name(int(n)), r_.nest.loops[n]->extent, body, r_.nest.loops[n]->for_kind);
  }
  // `inner` in the loops that reduce, the last of them left out.
  S reduced(int n, const std::function<S()>& inner) {
    while (n < r_.k && !r_.nest.is_reduce(n)) ++n;
    if (n == r_.k) return inner();
    return build_.loop(name(n), r_.nest.extent(n), [&](E v) {
      bind(n, v);
      return reduced(n + 1, inner);
    });
  }

  S row() {
    std::vector<S> all{
        each(wide_, [&](E u, E v) { return in_parts([&](const Part& p) { return set(p, p.start, u, v); }); })};
    all.push_back(reduced(0, [&] { return elements(); }));
    for (const Part& p : parts_) all.push_back(joined(p));
    if (r_.results[0].is_extreme) {
      all.push_back(extreme());
    } else {
      for (std::size_t i = 0; i < r_.results.size(); ++i) all.push_back(total(r_.results[i], parts_[i]));
    }
    return build_.seq(all);
  }

  S elements() {
    const std::int64_t block = wide_ * r_.lanes;
    const E total = length(), left = build_.rest(total, block), rest = build_.rest(total, r_.lanes);
    const E blocks = build_.whole(total, block), vectors = build_.whole(left, r_.lanes);
    std::vector<S> all;
    all.push_back(build_.loop(name(r_.k) + "_0", blocks, [&](E b) {
      return each(wide_, [&](E u, E v) {
        return added(u, v, build_.add(build_.scaled(b, block), build_.add(build_.scaled(u, r_.lanes), v)), nullptr);
      });
    }));
    if (wide_ > 1 && !ir::is_const(vectors, 0))
      all.push_back(build_.loop(name(r_.k) + "_1", vectors, [&](E b) {
        const E start = build_.add(build_.scaled(blocks, block), build_.scaled(b, r_.lanes));
        return vector(r_.lanes, [&](E v) { return added(lit(0), v, build_.add(start, v), nullptr); });
      }));
    if (ir::is_const(rest, 0)) return build_.seq(all);
    const E start = build_.scaled(build_.whole(total, r_.lanes), r_.lanes);
    S last = vector(r_.lanes, [&](E v) {
      return added(lit(0), v, build_.add(start, v), ir::compare(ctx_, BinaryKind::LT, v, rest));
    });
    if (!ir::const_int(rest)) last = ctx_.if_stmt(ir::compare(ctx_, BinaryKind::GT, rest, lit(0)), last);
    all.push_back(last);
    return build_.seq(all);
  }

  S vector(std::int64_t lanes, const Build::Body& f) {
    return build_.loop(name(r_.k) + "_3", lit(0), lanes, f, ir::ForKind::Vectorized);
  }
  S each(std::int64_t vectors, const std::function<S(E, E)>& f) {
    return build_.loop(
        name(r_.k) + "_2", lit(0), vectors, [&](E u) { return vector(r_.lanes, [&](E v) { return f(u, v); }); },
        ir::ForKind::Unrolled);
  }
  S in_parts(const std::function<S(const Part&)>& f) {
    std::vector<S> all;
    for (const Part& p : parts_) all.push_back(f(p));
    return build_.seq(all);
  }

  S set(const Part& p, E value, E u, E v) {
    S made = build_.store(p.local, value, {u, v});
    ctx_.set_origin(made, r_.nest.update);
    return made;
  }
  S put(const Part& p, E u, E v, E value) {
    return set(p, ctx_.binary(p.op, build_.load(p.local, {u, v}), value), u, v);
  }
  // Element `at` of the row, where it is inside; null: it is.
  S added(E u, E v, E at, E inside) {
    bind(r_.k, at);
    return in_parts([&](const Part& p) {
      E term = ir::substitute(ctx_, p.term, axes_);
      if (inside) term = ctx_.intrin(term->dtype(), ir::intrin::IfThenElse, {inside, term, p.start});
      return put(p, u, v, term);
    });
  }
  // All lanes are put together in the first one.
  S joined(const Part& p) {
    std::vector<S> all;
    const E zero = lit(0);
    for (std::int64_t n = 1; n < wide_; ++n)
      all.push_back(vector(r_.lanes, [&](E v) { return put(p, zero, v, build_.load(p.local, {lit(n), v})); }));
    for (std::int64_t half = r_.lanes / 2; half > 0; half /= 2)
      all.push_back(vector(half, [&](E v) {
        return put(p, zero, v, build_.load(p.local, {zero, build_.plus(v, half)}));
      }));
    return build_.seq(all);
  }

  E first(const Part& p) { return build_.load(p.local, {lit(0), lit(0)}); }
  S stored(const FreeResult& f, E value) {
    std::vector<E> at;
    for (E e : f.text->update->indices) at.push_back(ir::substitute(ctx_, e, axes_));
    S made = ctx_.store(f.text->update->buffer, value, at);
    ctx_.set_origin(made, f.text->update);
    return made;
  }
  S total(const FreeResult& f, const Part& p) {
    E value = first(p);
    const bool adds = f.op == BinaryKind::Add || f.op == BinaryKind::Mul;
    const auto* number = as<ir::FloatImm>(f.text->init->value);
    const auto* start = as<ir::FloatImm>(p.start);
    const bool same =
        number ? start && number->value == start->value : ir::const_int(f.text->init->value) == ir::const_int(p.start);
    if (adds && !same) value = ctx_.binary(f.op, ir::cast_to(ctx_, f.sum, f.text->init->value), value);
    return stored(f, ir::cast_to(ctx_, f.text->update->buffer->dtype, value));
  }

  S extreme() {
    const FreeResult& f = r_.results[0];
    const bool largest = f.op == BinaryKind::Max;
    const E high = first(parts_[0]), low = first(parts_[1]), far = first(parts_[2]);
    const auto is = [&](E e, BinaryKind kind, std::int64_t n) { return ir::compare(ctx_, kind, e, build_.lit(e, n)); };
    const E minus_zero = build_.lit(far, kMinusZero);
    const E nan = ir::logical_or(ctx_, is(high, BinaryKind::GT, kInfinity),
                                 ir::compare(ctx_, BinaryKind::GT, far, build_.lit(far, kMinusZero + kInfinity)));
    // The largest is 0, and there is a -0; the smallest is -0, and there may be a 0.
    const E zeros = largest ? ir::logical_and(ctx_, is(high, BinaryKind::EQ, 0), is(low, BinaryKind::EQ, INT32_MIN))
                            : ir::compare(ctx_, BinaryKind::EQ, far, minus_zero);
    // If all are below 0, the largest is the one with the smallest bits; if one is, the smallest has the largest.
    const E number = largest ? ctx_.select(is(high, BinaryKind::LT, 0), low, high)
                             : ctx_.select(is(low, BinaryKind::LT, 0), as_bits(low->dtype(), far), low);
    return ctx_.if_stmt(ir::logical_or(ctx_, nan, zeros), in_order(f), stored(f, as_bits(f.sum, number)));
  }
  S in_order(const FreeResult& f) {
    S again = reduced(0, [&] {
      return build_.loop(name(r_.k), length(), [&](E k) {
        bind(r_.k, k);
        return stored(f, ir::substitute(ctx_, f.text->value, axes_));
      });
    });
    return build_.seq({stored(f, f.text->init->value), again});
  }

  ir::Context& ctx_;
  Build build_;
  const RowLanes& r_;
  std::int64_t wide_ = 1;  // vectors of partial results
  std::vector<Part> parts_;
  ir::VarMap axes_;
  std::vector<const ir::Buffer*> allocs_;
};

}  // namespace

std::vector<Stage> schedule_row_lanes(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  const auto r = match_row_lanes(scene, loop);
  if (!r) return {};
  const bool known = ir::const_int(r->nest.extent(r->k)).has_value();
  const auto shorter = known ? std::vector<Stage>() : schedule_rows(scene, loop);
  return {{StepId::Vectorize, RowLanesWriter(scene, *r).run(loop, shorter.empty() ? nullptr : shorter.back().stmt)}};
}

}  // namespace rldb::schedule
