// Reductions along rows, a row at a time, in vectors of its neighbouring elements: sums if the order is free
// (`--fp=fast`), and maxima and minima. Their order matters only if there is a NaN, or for the sign of a zero: after a
// row with a NaN, or with -0 if zero is the result, it is reduced again in the text's order.
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

constexpr std::int64_t kRowVectors = 4;         // that are accumulated side by side
constexpr std::int64_t kLeastRowVectors = 16;   // of a row that is worth putting its lanes together
constexpr std::int64_t kInfinity = 0x7f800000;  // larger without the sign: NaN
constexpr std::int64_t kWithoutSign = 0x7fffffff;

struct VectorRow {
  ReductionNest nest;
  int k = -1;
  BinaryKind op = BinaryKind::Add;
  const ir::Expr* value = nullptr;  // that is reduced
  std::int64_t lanes = 0;
};

bool reads_along(const ir::Expr* value, const ir::Var* k) {
  bool fits = has_vector_form(value), moves = false;
  ir::walk(value, [&](const ir::Node* n) {
    if (as<ir::SelectExpr>(n)) fits = false;
    if (const auto* c = as<ir::Call>(n)) fits = fits && !ir::is_call_of(c, ir::intrin::IfThenElse);
    const auto* l = as<ir::BufferLoad>(n);
    if (!l || !moves_with(l, k)) return fits;
    const ir::DType t = l->buffer->dtype;
    moves = true;
    return fits = fits && runs_along(l, k) && t.is_float() && t.bits >= 16;
  });
  return fits && moves;
}

std::optional<VectorRow> match_vector_row(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_reduction(loop);
  if (!nest) return std::nullopt;
  VectorRow r;
  r.nest = std::move(*nest);
  const ir::Buffer* out = r.nest.update->buffer;
  if (out->dtype != ir::DType::Float(32) || scene.views.contains(out)) return std::nullopt;
  for (std::size_t n = 0; n < r.nest.loops.size(); ++n) {
    if (!r.nest.is_reduce(int(n))) continue;
    if (r.k >= 0) return std::nullopt;
    r.k = int(n);
  }
  r.lanes = std::int64_t(scene.target.vector_bytes / sizeof(float));
  if (ir::const_int(r.nest.extent(r.k)).value_or(0) < kLeastRowVectors * r.lanes) return std::nullopt;
  const auto* b = as<ir::BinaryExpr>(r.nest.update->value);
  const auto is_out = [&](const ir::Expr* e) {
    const auto* l = as<ir::BufferLoad>(e);
    return l && l->buffer == out;
  };
  if (!b || is_out(b->a) == is_out(b->b)) return std::nullopt;
  r.op = b->op();
  const bool order_is_free = r.op == BinaryKind::Add && scene.target.wide_sums;
  if (!order_is_free && r.op != BinaryKind::Max && r.op != BinaryKind::Min) return std::nullopt;
  r.value = is_out(b->a) ? b->b : b->a;
  if (!reads_along(r.value, r.nest.axes[std::size_t(r.k)]->var)) return std::nullopt;
  return r;
}

class VectorRowWriter {
 public:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  VectorRowWriter(const Scene& scene, const VectorRow& r) : ctx_(scene.ctx), build_(scene.ctx), r_(r) {}

  S run(const ir::ForStmt* from) {
    const E shape[] = {lit(kRowVectors * r_.lanes)};
    const std::string name(out()->name);
    local_ = ctx_.buffer(ctx_.str(name + "_local"), shape, out()->dtype, "local");
    std::vector<const ir::Buffer*> allocs{local_};
    if (r_.op != BinaryKind::Add) {
      bits_ = ctx_.buffer(ctx_.str(name + "_bits"), shape, ir::DType::Int(32), "local");
      allocs.push_back(bits_);
    }
    return build_.block(from, allocs, around(0), true);
  }

 private:
  const ir::Buffer* out() const { return r_.nest.update->buffer; }
  E length() const { return r_.nest.extent(r_.k); }
  E lit(std::int64_t n) const { return ctx_.int_imm(length()->dtype(), n); }
  void bind(int n, E value) {
    axes_[r_.nest.axes[std::size_t(n)]->var] = value;
    axes_[r_.nest.loops[std::size_t(n)]->var] = value;
  }
  std::vector<E> indices() {
    std::vector<E> all;
    for (E e : r_.nest.update->indices) all.push_back(ir::substitute(ctx_, e, axes_));
    return all;
  }
  S stored(const ir::Buffer* b, E value, const std::vector<E>& at) {
    S made = ctx_.store(b, value, at);
    ctx_.set_origin(made, r_.nest.update);
    return made;
  }

  S around(std::size_t n) {
    if (int(n) == r_.k) ++n;
    if (n == r_.nest.loops.size()) return row();
    const auto body = [&](E v) {
      bind(int(n), v);
      return around(n + 1);
    };
    return build_.loop(std::string(r_.nest.loops[n]->var->name), r_.nest.loops[n]->extent, body,
                       r_.nest.loops[n]->for_kind);
  }

  // So many vectors: each element of the accumulators.
  S each(std::int64_t vectors, std::int64_t lanes, const Build::Body& f) {
    const auto vector = [&](E u) {
      return build_.loop(
          "lane", lit(0), lanes, [&](E v) { return f(build_.add(build_.scaled(u, lanes), v)); },
          ir::ForKind::Vectorized);
    };
    return build_.loop("vector", lit(0), vectors, vector, ir::ForKind::Unrolled);
  }
  // All elements of the row: f of an accumulator and the element's place.
  S over_row(const std::function<S(E at, E k)>& f) {
    const std::int64_t n = *ir::const_int(length()), wide = kRowVectors * r_.lanes;
    std::vector<S> all{build_.loop("block", lit(n / wide), [&](E block) {
      return each(kRowVectors, r_.lanes, [&](E at) { return f(at, build_.add(build_.scaled(block, wide), at)); });
    })};
    const std::int64_t vectors = n % wide / r_.lanes, left = n % r_.lanes;
    if (vectors > 0) all.push_back(each(vectors, r_.lanes, [&](E at) { return f(at, build_.plus(at, n - n % wide)); }));
    if (left > 0)
      all.push_back(build_.loop("rest", lit(left), [&](E k) { return f(lit(0), build_.plus(k, n - left)); }));
    return build_.seq(all);
  }
  E element(E k) {
    bind(r_.k, k);
    return ir::substitute(ctx_, r_.value, axes_);
  }
  E bits_of(E value) { return ctx_.intrin(ir::DType::Int(32), ir::intrin::Reinterpret, {value}); }
  S fresh(const ir::Buffer* b, E start) {
    return each(kRowVectors, r_.lanes, [&](E at) { return stored(b, start, {at}); });
  }
  S accumulated(const ir::Buffer* b, BinaryKind op, E at, E value) {
    return stored(b, ctx_.binary(op, build_.load(b, {at}), value), {at});
  }
  // The first accumulator of all.
  S joined(const ir::Buffer* b, BinaryKind op) {
    std::vector<S> all;
    for (std::int64_t half = kRowVectors * r_.lanes / 2; half > 0; half /= 2) {
      const std::int64_t lanes = std::min(half, r_.lanes);
      all.push_back(each(half / lanes, lanes,
                         [&](E at) { return accumulated(b, op, at, build_.load(b, {build_.plus(at, half)})); }));
    }
    return build_.seq(all);
  }

  S row() {
    const E zero = ctx_.float_imm(out()->dtype, 0);
    const auto* init = as<ir::FloatImm>(r_.nest.init->value);
    const E value = build_.load(local_, {lit(0)});
    if (!bits_) {
      S sum = over_row([&](E at, E k) { return accumulated(local_, r_.op, at, element(k)); });
      const E all = init && init->value == 0 ? value : ctx_.binary(r_.op, r_.nest.init->value, value);
      return build_.seq({fresh(local_, zero), sum, joined(local_, r_.op), stored(out(), all, indices())});
    }
    S best = over_row([&](E at, E k) {
      const E x = element(k);
      const E size = ctx_.intrin(ir::DType::Int(32), ir::intrin::BitwiseAnd, {bits_of(x), ctx_.i32(kWithoutSign)});
      return build_.seq({accumulated(local_, r_.op, at, x), accumulated(bits_, BinaryKind::Max, at, size)});
    });
    S good = stored(out(), value, indices());
    const E is_zero = ir::compare(ctx_, BinaryKind::EQ, value, zero);
    const E is_number = ir::compare(ctx_, BinaryKind::LE, build_.load(bits_, {lit(0)}), ctx_.i32(kInfinity));
    const E is_plain = ir::logical_and(ctx_, is_number, ir::logical_not(ctx_, is_zero));
    return build_.seq({fresh(local_, r_.nest.init->value), fresh(bits_, ctx_.i32(0)), best, joined(local_, r_.op),
                       joined(bits_, BinaryKind::Max), ctx_.if_stmt(is_plain, good, checked(is_number, good))});
  }
  // -0 is the smallest integer: without one all zeros are the same.
  S checked(E is_number, S good) {
    S find = over_row([&](E at, E k) { return accumulated(bits_, BinaryKind::Min, at, bits_of(element(k))); });
    const E none = ir::compare(ctx_, BinaryKind::NE, build_.load(bits_, {lit(0)}), ctx_.i32(INT32_MIN));
    S zero = build_.seq(
        {fresh(bits_, ctx_.i32(0)), find, joined(bits_, BinaryKind::Min), ctx_.if_stmt(none, good, in_order())});
    return ctx_.if_stmt(is_number, zero, in_order());
  }
  S in_order() {
    S first = stored(out(), r_.nest.init->value, indices());
    return build_.seq({first, build_.loop("again", length(), [&](E k) {
                         bind(r_.k, k);
                         return stored(out(), ir::substitute(ctx_, r_.nest.update->value, axes_), indices());
                       })});
  }

  ir::Context& ctx_;
  Build build_;
  const VectorRow& r_;
  const ir::Buffer *local_ = nullptr, *bits_ = nullptr;
  ir::VarMap axes_;
};

}  // namespace

std::vector<Stage> schedule_row_vectors(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  const auto r = match_vector_row(scene, loop);
  if (!r) return {};
  return {{StepId::Vectorize, VectorRowWriter(scene, *r).run(loop)}};
}

}  // namespace rldb::schedule
