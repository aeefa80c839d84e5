// Elementwise nests in explicit vectors along their last loop, which all accesses run along or do not move with: those
// with elementary functions, and those of several dimensions that cannot be one flat loop (a broadcast row, a block of
// rows). LLVM would unroll short loops of known extents as a whole, and does not vectorise functions with a rare case.
//
// The rest of a row is a vector that overlaps the one before, unless the nest reads what it writes.
#include <algorithm>

#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

constexpr std::int64_t kMostLanes = 64;

struct VectorNest {
  ElementwiseNest nest;
  std::int64_t lanes = 0;
  bool repeats = true;  // an element may be computed twice
};

bool is_plain(ir::DType t) { return t.lanes == 1 && t.bits >= 8 && !t.is_bool() && !t.is_handle(); }

std::optional<VectorNest> match_vectors(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_elementwise(loop);
  if (!nest || !has_vector_form(nest->store->value)) return std::nullopt;
  VectorNest v;
  const ir::Var* last = nest->axes.back();
  const ir::Buffer* out = nest->store->buffer;
  if (scene.views.contains(out) || !is_plain(out->dtype) || !is_dense(out)) return std::nullopt;
  for (std::size_t i = 0; i < nest->store->indices.size(); ++i)
    if (mentions(nest->store->indices[i], last) != (i + 1 == nest->store->indices.size())) return std::nullopt;
  if (nest->store->indices.empty() || nest->store->indices.back() != last) return std::nullopt;
  std::size_t bytes = std::max<std::size_t>(out->dtype.bytes(), 1);
  bool fits = true, calls = false;
  ir::walk(nest->store->value, [&](const ir::Node* n) {
    if (const auto* e = as<ir::Expr>(n); e && e->type && !as<ir::Op>(n)) {
      const ir::DType t = e->dtype();
      // Narrow floats are computed in 32 bits.
      if (t.is_float()) bytes = std::max<std::size_t>({bytes, t.bytes(), 4});
    }
    if (const auto* c = as<ir::Call>(n)) {
      calls = true;
      fits = fits && !ir::is_call_of(c, ir::intrin::IfThenElse);
    }
    if (as<ir::SelectExpr>(n)) fits = false;
    if (const auto* l = as<ir::BufferLoad>(n)) {
      fits = fits && is_plain(l->buffer->dtype) && (runs_along(l, last) || !moves_with(l, last));
      bytes = std::max(bytes, l->buffer->dtype.bytes());
      if (l->buffer->data == out->data) v.repeats = false;
      return false;
    }
    // The lane's number as a value (an arange) has no use for this.
    if (n == last) fits = false;
    return fits;
  });
  if (!fits || (!calls && nest->loops.size() < 2)) return std::nullopt;
  v.lanes = std::min<std::int64_t>(kMostLanes, std::int64_t(scene.target.vector_bytes / bytes));
  if (v.lanes < 2 || ir::const_int(nest->loops.back()->extent).value_or(v.lanes) < v.lanes) return std::nullopt;
  v.nest = std::move(*nest);
  return v;
}

class VectorsWriter {
 public:
  VectorsWriter(const Scene& scene, const VectorNest& v) : build_(scene.ctx), v_(v) {}

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
    if (n + 1 == v_.nest.loops.size()) return row(l);
    return build_.loop(
        std::string(l->var->name), l->extent,
        [&](E i) {
          bind(n, i);
          return around(n + 1);
        },
        l->for_kind);
  }

  S row(const ir::ForStmt* l) {
    const E total = l->extent;
    const std::string name(l->var->name);
    S whole = build_.loop(name + "_0", build_.whole(total, v_.lanes),
                          [&](E b) { return vector(l, build_.scaled(b, v_.lanes)); });
    const E rest = build_.rest(total, v_.lanes);
    if (ir::is_const(rest, 0)) return whole;
    const auto single = [&](E start, E count) {
      return build_.loop(name, count, [&](E i) { return element(build_.add(start, i)); });
    };
    S few = single(build_.scaled(build_.whole(total, v_.lanes), v_.lanes), rest);
    if (!v_.repeats) return build_.seq({whole, few});
    S last = vector(l, build_.plus(total, -v_.lanes));
    if (ir::const_int(total)) return build_.seq({whole, last});
    ir::Context& ctx = build_.ctx;
    last = ctx.if_stmt(ir::compare(ctx, ir::BinaryKind::GT, rest, build_.lit(rest, 0)), last);
    return ctx.if_stmt(ir::compare(ctx, ir::BinaryKind::GE, total, build_.lit(total, v_.lanes)),
                       build_.seq({whole, last}), single(build_.lit(total, 0), total));
  }
  S vector(const ir::ForStmt* l, E start) {
    return build_.loop(
        std::string(l->var->name) + "_1", start, v_.lanes, [&](E i) { return element(build_.add(start, i)); },
        ir::ForKind::Vectorized);
  }
  S element(E at) {
    bind(v_.nest.loops.size() - 1, at);
    const ir::BufferStore* store = v_.nest.store;
    Retarget value(build_.ctx, axes_);
    std::vector<E> indices;
    for (E e : store->indices) indices.push_back(value.rewrite(e));
    S made = build_.ctx.store(store->buffer, value.rewrite(store->value), indices);
    build_.ctx.set_origin(made, store);
    return made;
  }

  Build build_;
  const VectorNest& v_;
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
