// Elementwise nests in explicit vectors along their last loop, which all accesses run along or do not move with: those
// with elementary functions, and those of several dimensions that cannot be one flat loop (a broadcast row, a block of
// rows). LLVM would unroll short loops of known extents as a whole, and does not vectorise functions with a rare case.
//
// The rest of a row is a vector that overlaps the one before, unless the nest reads what it writes.
//
// A value that is chosen by where an element is (padding, tensors joined) divides the last loop at the places where the
// choice changes; tests of the other loops are made once for a row.
#include <algorithm>
#include <functional>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

constexpr std::int64_t kMostLanes = 64;
constexpr std::int64_t kLeastLanes = 4;  // in a short row
// Choices inside one another: each that divides a row may be written four times. If all places are known, those of the
// choices around it as well, the pieces of the row do not overlap, so there are no more than two for each choice.
constexpr int kMostChoices = 12, kDivides = 4, kTests = 1;
constexpr int kMostPlaces = 64;

struct VectorNest {
  ElementwiseNest nest;
  std::int64_t lanes = 0;
  bool repeats = true;  // an element may be computed twice
};

bool is_plain(ir::DType t) { return t.lanes == 1 && t.bits >= 8 && !t.is_bool() && !t.is_handle(); }

const ir::Call* as_choice(const ir::Expr* e) {
  const auto* c = as<ir::Call>(e);
  return c && ir::is_call_of(c, ir::intrin::IfThenElse) && c->args.size() == 3 ? c : nullptr;
}

// Where a choice is made: from `low` up to below `high` along the last loop (null: from the start, to the end), if also
// `test` holds (null: always), which does not move along it.
struct Bounds {
  const ir::Expr *low = nullptr, *high = nullptr, *test = nullptr;
};

// A test or bound that is taken out of the loop, and out of the tests before it, is evaluated where the text may not.
bool can_fail(const ir::Expr* e) {
  bool found = false;
  ir::walk(e, [&](const ir::Node* n) {
    const auto* b = as<ir::BinaryExpr>(n);
    const bool divides = b && (b->kind == ir::BinaryKind::Div || b->kind == ir::BinaryKind::Mod ||
                               b->kind == ir::BinaryKind::FloorDiv || b->kind == ir::BinaryKind::FloorMod);
    found = found || as<ir::BufferLoad>(n) || (divides && ir::const_int(b->b).value_or(0) == 0);
    return !found;
  });
  return found;
}

class BoundsOf {
 public:
  BoundsOf(const Scene& scene, const ir::Var* last, const ir::Expr* extent)
      : scene_(scene), ctx_(scene.ctx), last_(last), extent_(extent) {}

  // Comparisons of the last axis itself, and tests without it.
  std::optional<Bounds> of(const ir::Expr* condition) {
    Bounds out;
    if (!add(condition, out)) return std::nullopt;
    return out;
  }

 private:
  bool add(const ir::Expr* e, Bounds& out) {
    const auto* b = as<ir::BinaryExpr>(e);
    if (b && b->kind == ir::BinaryKind::And) return add(b->a, out) && add(b->b, out);
    if (can_fail(e)) return false;
    if (!mentions(e, last_)) {
      out.test = out.test ? ir::logical_and(ctx_, out.test, e) : e;
      return true;
    }
    if (!b) return false;
    const bool first = is_place(b->a);
    if (!first && !is_place(b->b)) return false;
    const ir::Expr* other = compared_with(first ? b->a : b->b, first ? b->b : b->a);
    if (!other) return false;
    if (mentions(other, last_) || other->dtype() != last_->dtype() || extent_->dtype() != other->dtype()) return false;
    const ir::Expr* one = ctx_.int_imm(other->dtype(), 1);
    // It may be the largest number: beyond the last element all are alike.
    const ir::Expr* next = ir::add(ctx_, ir::min(ctx_, other, ir::sub(ctx_, extent_, one)), one);
    const auto below = first ? ir::BinaryKind::LT : ir::BinaryKind::GT,
               up_to = first ? ir::BinaryKind::LE : ir::BinaryKind::GE;
    const auto above = first ? ir::BinaryKind::GT : ir::BinaryKind::LT,
               from = first ? ir::BinaryKind::GE : ir::BinaryKind::LE;
    if (b->kind == below || b->kind == up_to) {
      const ir::Expr* at = b->kind == below ? other : next;
      out.high = out.high ? ir::min(ctx_, out.high, at) : at;
      return true;
    }
    if (b->kind != above && b->kind != from) return false;
    const ir::Expr* at = b->kind == above ? next : other;
    out.low = out.low ? ir::max(ctx_, out.low, at) : at;
    return true;
  }

  // The last axis, or what is left of it beyond sizes: n + m elements before the third of several tensors joined.
  bool is_place(const ir::Expr* e) const {
    const auto* b = as<ir::BinaryExpr>(e);
    return e == last_ || (b && b->kind == ir::BinaryKind::Sub && is_place(b->a));
  }
  // The axis is compared with this if `place` is compared with `number`; null: not known. Sizes are not negative, so
  // the difference does not wrap.
  const ir::Expr* compared_with(const ir::Expr* place, const ir::Expr* number) const {
    if (place == last_) return number;
    if (!ir::is_const(number, 0) || place->dtype().bits != 64) return nullptr;
    const ir::Expr* sum = nullptr;
    for (; place != last_; place = as<ir::BinaryExpr>(place)->a) {
      const ir::Expr* size = as<ir::BinaryExpr>(place)->b;
      if (!not_negative(scene_, size)) return nullptr;
      sum = sum ? ir::add(ctx_, size, sum) : size;
    }
    return sum;
  }

  const Scene& scene_;
  ir::Context& ctx_;
  const ir::Var* last_;
  const ir::Expr* extent_;  // of its loop
};

class VectorMatcher {
 public:
  VectorMatcher(const Scene& scene, VectorNest& v) : scene_(scene), v_(v), last_(v.nest.axes.back()) {
    bytes_ = std::max<std::size_t>(out()->dtype.bytes(), 1);
  }

  bool run() {
    if (!has_vector_form(v_.nest.store->value)) return false;
    if (scene_.views.contains(out()) || !is_plain(out()->dtype) || !is_dense(out())) return false;
    const auto& indices = v_.nest.store->indices;
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (mentions(indices[i], last_) != (i + 1 == indices.size())) return false;
    if (indices.empty() || indices.back() != last_ || !fits(v_.nest.store->value, 0)) return false;
    if (!calls_ && v_.nest.loops.size() < 2) return false;
    v_.lanes = std::min<std::int64_t>(kMostLanes, std::int64_t(scene_.target.vector_bytes / bytes_));
    const std::int64_t extent = ir::const_int(v_.nest.loops.back()->extent).value_or(v_.lanes);
    while (v_.lanes > std::max(extent, kLeastLanes)) v_.lanes /= 2;
    return v_.lanes >= 2 && extent >= v_.lanes;
  }

 private:
  const ir::Buffer* out() const { return v_.nest.store->buffer; }

  bool fits(const ir::Expr* value, int choices) {
    if (const ir::Call* c = as_choice(value)) {
      const auto bounds = BoundsOf(scene_, last_, v_.nest.loops.back()->extent).of(c->args[0]);
      if (!bounds) return false;
      choices += cost_of(*bounds, choices == 0);
      calls_ = true;
      note_loads(c->args[0]);
      if (choices > kMostChoices || ++places_ > kMostPlaces) return false;
      return fits(c->args[1], choices) && fits(c->args[2], choices);
    }
    bool good = true;
    ir::walk(value, [&](const ir::Node* n) {
      if (const auto* e = as<ir::Expr>(n); e && e->type && !as<ir::Op>(n)) {
        const ir::DType t = e->dtype();
        // Narrow floats are computed in 32 bits.
        if (t.is_float()) bytes_ = std::max<std::size_t>({bytes_, t.bytes(), 4});
      }
      if (const auto* c = as<ir::Call>(n)) {
        calls_ = true;
        good = good && !as_choice(c);
      }
      if (as<ir::SelectExpr>(n)) good = false;
      if (const auto* l = as<ir::BufferLoad>(n)) {
        good = good && is_plain(l->buffer->dtype) && (runs_along(l, last_) || !moves_with(l, last_));
        bytes_ = std::max(bytes_, l->buffer->dtype.bytes());
        note(l);
        return false;
      }
      // The lane's number as a value (an arange) has no use for this.
      if (n == last_) good = false;
      return good;
    });
    return good;
  }
  int cost_of(const Bounds& b, bool outer_known) const {
    const auto known = [](const ir::Expr* e) { return !e || ir::const_int(e); };
    if (b.low || b.high) {
      const bool at_known_places = known(b.low) && known(b.high) && known(v_.nest.loops.back()->extent);
      return at_known_places && outer_known && !b.test ? 0 : kDivides;
    }
    return kTests;
  }
  void note_loads(const ir::Expr* condition) {
    ir::walk(condition, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) note(l);
      return true;
    });
  }
  void note(const ir::BufferLoad* l) {
    if (l->buffer->data == out()->data) v_.repeats = false;
  }

  const Scene& scene_;
  VectorNest& v_;
  const ir::Var* last_;
  std::size_t bytes_ = 1;
  int places_ = 0;
  bool calls_ = false;
};

std::optional<VectorNest> match_vectors(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_elementwise(loop);
  if (!nest) return std::nullopt;
  VectorNest v{std::move(*nest)};
  if (!VectorMatcher(scene, v).run()) return std::nullopt;
  // Between two ranges the same element could be read and written.
  if (!v.repeats && as_choice(v.nest.store->value)) return std::nullopt;
  return v;
}

class VectorsWriter {
 public:
  VectorsWriter(const Scene& scene, const VectorNest& v)
      : scene_(scene), build_(scene.ctx), v_(v), analyzer_(scene.ctx) {
    for (const ir::Var* dim : scene.dims) analyzer_.mark_non_negative(dim);
  }

  const ir::Stmt* run(const ir::ForStmt* from) {
    const ir::Stmt* body = around(0);
    return as<ir::SBlockRealize>(match_nest(from)->inner) ? build_.block(from, {}, body, false) : body;
  }

 private:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  void bind(std::size_t n, E value) {
    axes_[v_.nest.axes[n]] = value;
    axes_[v_.nest.loops[n]->var] = value;
  }
  S around(std::size_t n) {
    const ir::ForStmt* l = v_.nest.loops[n];
    if (n + 1 == v_.nest.loops.size()) return values(v_.nest.store->value, build_.lit(l->extent, 0), l->extent);
    return build_.loop(
        std::string(l->var->name), l->extent,
        [&](E i) {
          bind(n, i);
          return around(n + 1);
        },
        l->for_kind);
  }

  // The value from one place of the row up to another; null: there is none.
  S values(E value, E from, E to) {
    ir::Context& ctx = build_.ctx;
    const E count = difference(to, from);
    if (const auto n = ir::const_int(count); n && *n <= 0) return nullptr;
    const ir::Call* choice = as_choice(value);
    if (!choice) return row(value, from, count);
    const Bounds b = *BoundsOf(scene_, v_.nest.axes.back(), v_.nest.loops.back()->extent).of(choice->args[0]);
    const auto at = [&](E e) { return ir::substitute(ctx, e, axes_); };
    const E low = b.low ? least(most(at(b.low), from), to) : from;
    const E high = b.high ? most(least(at(b.high), to), low) : to;
    std::vector<S> parts{values(choice->args[2], from, low), values(choice->args[1], low, high),
                         values(choice->args[2], high, to)};
    S inside = build_.seq(std::move(parts));
    return b.test ? ctx.if_stmt(at(b.test), inside, values(choice->args[2], from, to)) : inside;
  }

  // Of unknown lengths it may be known which is the least, and that nothing is between two of them.
  bool up_to(E a, E b) {
    if (ir::const_int(a) && ir::const_int(b)) return false;  // folded anyway
    return analyzer_.prove(ir::compare(build_.ctx, ir::BinaryKind::LE, a, b));
  }
  E least(E a, E b) { return up_to(a, b) ? a : up_to(b, a) ? b : ir::min(build_.ctx, a, b); }
  E most(E a, E b) { return up_to(a, b) ? b : up_to(b, a) ? a : ir::max(build_.ctx, a, b); }
  E difference(E a, E b) {
    const E made = ir::sub(build_.ctx, a, b);
    if (ir::const_int(made)) return made;
    const E simple = analyzer_.simplify(made);
    return ir::const_int(simple) || as<ir::Var>(simple) ? simple : made;
  }

  S row(E value, E from, E total) {
    const ir::ForStmt* l = v_.nest.loops.back();
    const std::string name(l->var->name);
    std::int64_t lanes = v_.lanes;
    if (const auto known = ir::const_int(total))
      while (lanes > *known) lanes /= 2;
    const auto single = [&](E start, E count) {
      return build_.loop(name, count, [&](E i) { return element(value, build_.add(from, build_.add(start, i))); });
    };
    if (lanes < 2) return single(build_.lit(total, 0), total);
    return vectors(value, from, total, lanes, single);
  }

  // Whole vectors and one for the rest of the row. If the row may be shorter than a vector, smaller ones are tried.
  S vectors(E value, E from, E total, std::int64_t lanes, const std::function<S(E start, E count)>& single) {
    const std::string name(v_.nest.loops.back()->var->name);
    const auto vector = [&](E start) {
      return build_.loop(
          name + "_1", start, lanes, [&](E i) { return element(value, build_.add(from, build_.add(start, i))); },
          ir::ForKind::Vectorized);
    };
    S whole =
        build_.loop(name + "_0", build_.whole(total, lanes), [&](E b) { return vector(build_.scaled(b, lanes)); });
    const E rest = build_.rest(total, lanes);
    if (ir::is_const(rest, 0)) return whole;
    if (!v_.repeats) {
      S few = single(build_.scaled(build_.whole(total, lanes), lanes), rest);
      return build_.seq({whole, few});
    }
    S last = vector(build_.plus(total, -lanes));
    if (ir::const_int(total)) return build_.seq({whole, last});
    ir::Context& ctx = build_.ctx;
    last = ctx.if_stmt(ir::compare(ctx, ir::BinaryKind::GT, rest, build_.lit(rest, 0)), last);
    const bool in_pieces = as_choice(v_.nest.store->value) || lanes <= kLeastLanes;
    S shorter = in_pieces ? single(build_.lit(total, 0), total) : vectors(value, from, total, kLeastLanes, single);
    return ctx.if_stmt(ir::compare(ctx, ir::BinaryKind::GE, total, build_.lit(total, lanes)), build_.seq({whole, last}),
                       shorter);
  }
  S element(E value, E at) {
    bind(v_.nest.loops.size() - 1, at);
    const ir::BufferStore* store = v_.nest.store;
    Retarget moved(build_.ctx, axes_);
    std::vector<E> indices;
    for (E e : store->indices) indices.push_back(moved.rewrite(e));
    S made = build_.ctx.store(store->buffer, moved.rewrite(value), indices);
    build_.ctx.set_origin(made, store);
    return made;
  }

  const Scene& scene_;
  Build build_;
  const VectorNest& v_;
  ir::Analyzer analyzer_;
  ir::VarMap axes_;
};

}  // namespace

std::vector<Stage> schedule_vectors(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  const auto v = match_vectors(scene, loop);
  if (!v) return {};
  return {{StepId::Vectorize, VectorsWriter(scene, *v).run(loop)}};
}

}  // namespace rldb::schedule
