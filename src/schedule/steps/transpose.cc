// Elementwise nests that read a buffer along another axis than the one along which they write: transposes, alone or
// fused with other operators. Square tiles are copied, transposed, in registers (codegen/llvm/lower/transposed.cc), so
// that both sides are accessed in whole vectors.
//
// The last tile of a row or column may overlap the one before; what is computed twice has the same value.
#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

constexpr std::size_t kMaxTurned = 3;
constexpr std::int64_t kMaxSide = 16;
constexpr std::int64_t kLeastSide = 4;

struct Transposing {
  ElementwiseNest nest;
  int across = -1;  // the loop along which the turned buffers are contiguous
  int along = -1;   // the one along which the result is
  std::int64_t side = 0;
  std::vector<const ir::BufferLoad*> turned;
};

int axis_number(const ElementwiseNest& nest, const ir::Expr* e) {
  const auto it = std::find(nest.axes.begin(), nest.axes.end(), e);
  return it == nest.axes.end() ? -1 : int(it - nest.axes.begin());
}

// Each axis is an index of the result, once: no element is written twice.
bool writes_each_once(const ElementwiseNest& nest) {
  std::vector<int> seen(nest.axes.size(), 0);
  for (const ir::Expr* e : nest.store->indices) {
    if (ir::is_const(e, 0)) continue;
    const int n = axis_number(nest, e);
    if (n < 0 || seen[std::size_t(n)]++) return false;
  }
  return std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; });
}

bool is_turned(const ir::BufferLoad* l, const ir::Var* across, const ir::Var* along) {
  return runs_along(l, across) && moves_with(l, along) && !mentions(l->indices.back(), along);
}

std::optional<Transposing> match_transpose(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_elementwise(loop);
  if (!nest || nest->loops.size() < 2 || !has_vector_form(nest->store->value)) return std::nullopt;
  const ir::Buffer* out = nest->store->buffer;
  if (!is_dense(out) || out->dtype.lanes != 1 || out->dtype.bits < 8 || out->dtype.is_bool()) return std::nullopt;
  if (scene.views.contains(out) || !writes_each_once(*nest)) return std::nullopt;
  Transposing t;
  t.along = axis_number(*nest, nest->store->indices.back());
  if (t.along < 0) return std::nullopt;
  const ir::Var* along = nest->axes[std::size_t(t.along)];
  bool fits = true;
  std::size_t bytes = out->dtype.bytes();
  ir::walk(nest->store->value, [&](const ir::Node* n) {
    const auto* l = as<ir::BufferLoad>(n);
    if (!l) return fits;
    fits = fits && l->buffer->data != out->data;
    const int across = axis_number(*nest, l->indices.empty() ? nullptr : l->indices.back());
    if (across < 0 || across == t.along || !is_turned(l, nest->axes[std::size_t(across)], along)) return fits;
    const ir::DType type = l->buffer->dtype;
    fits = fits && (t.across < 0 || t.across == across) && type.bits >= 8 && !type.is_bool();
    t.across = across;
    bytes = std::max(bytes, type.bytes());
    const auto same = [&](const ir::BufferLoad* other) { return ir::expr_equal(other, l); };
    if (std::none_of(t.turned.begin(), t.turned.end(), same)) t.turned.push_back(l);
    return fits;
  });
  if (!fits || t.turned.empty() || t.turned.size() > kMaxTurned) return std::nullopt;
  t.side = std::min<std::int64_t>(kMaxSide, std::int64_t(scene.target.vector_bytes / bytes));
  for (const int n : {t.across, t.along})
    if (const auto extent = ir::const_int(nest->loops[std::size_t(n)]->extent))
      while (t.side > *extent) t.side /= 2;
  if (t.side < kLeastSide) return std::nullopt;
  t.nest = std::move(*nest);
  return t;
}

class TransposeWriter {
 public:
  TransposeWriter(const Scene& scene, const Transposing& t) : build_(scene.ctx), t_(t) {}

  std::vector<Stage> run(const ir::ForStmt* from, bool all) {
    std::vector<Stage> out;
    for (const StepId step : {StepId::Tile, StepId::Pack, StepId::Vectorize}) {
      const bool direct = is_copy();
      if ((!all && step != StepId::Vectorize) || (direct && step == StepId::Pack)) continue;
      packed_ = step != StepId::Tile && !direct;
      vectors_ = step == StepId::Vectorize;
      allocs_.clear();
      const bool has_block = as<ir::SBlockRealize>(match_nest(from)->inner) != nullptr;
      if (!has_block && packed_) return {};  // no place for the tiles
      const ir::Stmt* body = around(0);
      out.push_back({step, has_block ? build_.block(from, allocs_, body, false) : body});
    }
    return out;
  }

 private:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  // Only casts around a load: it goes from memory to memory.
  bool is_copy() const {
    E value = t_.nest.store->value;
    while (const auto* c = as<ir::CastExpr>(value)) value = c->value;
    return as<ir::BufferLoad>(value) != nullptr;
  }
  void bind(int n, E value) {
    axes_[t_.nest.axes[std::size_t(n)]] = value;
    axes_[t_.nest.loops[std::size_t(n)]->var] = value;
  }
  E extent(int n) const { return t_.nest.loops[std::size_t(n)]->extent; }
  std::string name(int n) const { return std::string(t_.nest.loops[std::size_t(n)]->var->name); }

  // The other loops, then the tiles; fewer elements than a tile has, one by one.
  S around(int n) {
    while (n < int(t_.nest.loops.size()) && (n == t_.across || n == t_.along)) ++n;
    if (n == int(t_.nest.loops.size())) return tiles();
    return build_.loop(
        name(n), extent(n),
        [&](E v) {
          bind(n, v);
          return around(n + 1);
        },
        t_.nest.loops[std::size_t(n)]->for_kind);
  }
  S tiles() {
    E enough = nullptr;
    for (const int n : {t_.across, t_.along})
      if (!ir::const_int(extent(n)))
        enough =
            build_.both(enough, ir::compare(build_.ctx, ir::BinaryKind::GE, extent(n), build_.lit(extent(n), t_.side)));
    S tiled = blocks(t_.across, [&](E x) { return blocks(t_.along, [&](E y) { return tile(x, y); }); });
    return enough ? build_.ctx.if_stmt(enough, tiled, single()) : tiled;
  }
  // Starts of tiles along a loop of at least a tile's length.
  S blocks(int n, const Build::Body& body) {
    const E total = extent(n);
    const auto known = ir::const_int(total);
    if (known && *known % t_.side == 0)
      return build_.loop(name(n) + "_0", build_.whole(total, t_.side),
                         [&](E b) { return body(build_.scaled(b, t_.side)); });
    return build_.loop(name(n) + "_0", build_.blocks(total, t_.side), [&](E b) {
      return body(ir::min(build_.ctx, build_.scaled(b, t_.side), build_.plus(total, -t_.side)));
    });
  }
  S single() {
    return build_.loop(name(t_.across), extent(t_.across), [&](E x) {
      return build_.loop(name(t_.along), extent(t_.along), [&](E y) {
        bind(t_.across, x);
        bind(t_.along, y);
        return element(nullptr, nullptr);
      });
    });
  }

  S tile(E x, E y) {
    const auto each = [&](const std::function<S(E, E)>& f) {
      return build_.loop(
          name(t_.across) + "_1", x, t_.side,
          [&](E u) {
            return build_.loop(
                name(t_.along) + "_1", y, t_.side,
                [&](E v) {
                  bind(t_.across, build_.add(x, u));
                  bind(t_.along, build_.add(y, v));
                  return f(u, v);
                },
                vectors_ ? ir::ForKind::Vectorized : ir::ForKind::Serial);
          },
          vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
    };
    if (!packed_) return each([&](E, E) { return element(nullptr, nullptr); });
    std::vector<S> all;
    tiles_.clear();
    for (const ir::BufferLoad* l : t_.turned) {
      const E shape[] = {build_.lit(x, t_.side), build_.lit(y, t_.side)};
      tiles_.push_back(
          build_.ctx.buffer(build_.ctx.str(std::string(l->buffer->name) + "_tile"), shape, l->buffer->dtype, "local"));
      allocs_.push_back(tiles_.back());
      all.push_back(each([&](E u, E v) {
        return build_.store(tiles_.back(), ir::substitute(build_.ctx, l, axes_), {u, v});
      }));
    }
    all.push_back(each([&](E u, E v) { return element(u, v); }));
    return build_.seq(all);
  }

  // One element of the result; u and v: its place in the tile, null: nothing was copied.
  S element(E u, E v) {
    LoadsReplaced value(build_.ctx, axes_, [&](const ir::BufferLoad* l) -> E {
      if (!u) return nullptr;
      for (std::size_t i = 0; i < t_.turned.size(); ++i)
        if (ir::expr_equal(t_.turned[i], l)) return build_.load(tiles_[i], {u, v});
      return nullptr;
    });
    std::vector<E> indices;
    for (E e : t_.nest.store->indices) indices.push_back(ir::substitute(build_.ctx, e, axes_));
    S made = build_.ctx.store(t_.nest.store->buffer, value.rewrite(t_.nest.store->value), indices);
    build_.ctx.set_origin(made, t_.nest.store);
    return made;
  }

  Build build_;
  const Transposing& t_;
  bool packed_ = false, vectors_ = false;
  std::vector<const ir::Buffer*> tiles_;  // of the turned loads
  ir::VarMap axes_;
  std::vector<const ir::Buffer*> allocs_;
};

}  // namespace

std::vector<Stage> schedule_transpose(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  const auto t = match_transpose(scene, loop);
  if (!t) return {};
  return TransposeWriter(scene, *t).run(loop, scene.all_steps);
}

}  // namespace rldb::schedule
