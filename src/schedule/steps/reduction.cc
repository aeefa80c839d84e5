// Reductions whose outputs are neighbours: vectors of outputs stay in registers while the reduction loops run, so that
// each output still accumulates in the text's order (convolutions, sums over outer axes, products of odd shapes). Of
// short windows (pools, depthwise convolutions) several rows are done at once: each output is a chain of dependent
// operations, and neighbouring rows read the same elements. Of several results (a maximum and its place) the values of
// all are calculated before any is replaced.
#include <algorithm>

#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

constexpr std::size_t kMaxLoads = 6;
constexpr std::int64_t kMaxTiles = 4;
constexpr std::int64_t kMaxUnrolled = 64;  // vectors in the unrolled steps of a reduction
constexpr std::int64_t kMaxWindow = 128;   // the same where several rows are done at once
constexpr std::int64_t kMaxChains = 8;     // vectors of outputs at once: twice as many hide no more latency

// The result that a load reads.
std::optional<std::size_t> result_of(const ReductionNest& nest, const ir::BufferLoad* l) {
  for (std::size_t i = 0; i < nest.results.size(); ++i)
    if (nest.results[i].update->buffer == l->buffer) return i;
  return std::nullopt;
}

// Whether vectors along a loop pay: every load that moves with it does so by one element, or all but one
// do (then its lanes are gathered, which still hides the latency of the chain of additions).
bool pays(const ReductionNest& nest, const ir::Var* axis) {
  std::size_t loads = 0, dense = 0, gathered = 0;
  bool simple = true;
  const auto look = [&](const ir::Node* n) {
    if (const auto* c = as<ir::Call>(n)) {
      const auto* op = as<ir::Op>(c->callee);
      const bool packed = !op || op->name.find("call") != std::string_view::npos;
      if (packed) simple = false;
    }
    if (as<ir::LetExpr>(n) || as<ir::Ramp>(n) || as<ir::Broadcast>(n) || as<ir::Shuffle>(n)) simple = false;
    const auto* l = as<ir::BufferLoad>(n);
    if (!l || result_of(nest, l)) return simple;
    ++loads;
    if (l->buffer->dtype.lanes != 1) simple = false;
    for (std::size_t i = 0; i < l->indices.size(); ++i) {
      if (!mentions(l->indices[i], axis)) continue;
      // Dense: the axis plus something in the last index.
      const bool last = i + 1 == l->indices.size();
      const auto* sum = as<ir::BinaryExpr>(l->indices[i]);
      const bool plus =
          l->indices[i] == axis || (sum && sum->kind == ir::BinaryKind::Add && (sum->a == axis || sum->b == axis));
      ++(last && plus ? dense : gathered);
    }
    return simple;
  };
  for (const ReductionNest::Result& r : nest.results) ir::walk(r.value, look);
  return simple && loads <= kMaxLoads && (dense > 0 ? gathered == 0 : gathered == 1);
}

struct Reduction {
  ReductionNest nest;
  int j = -1;  // the loop along which vectors lie
  std::int64_t lanes = 0;
  std::int64_t tiles = 0;  // vectors processed at once
  bool whole = false;      // these are all; the last may overlap the one before
  int i = -1;              // the loop along which rows lie, if there are several at once
  std::int64_t rows = 1;
};

// The steps of a window whose extents are all known; none: it is not short.
std::optional<std::int64_t> window_of(const ReductionNest& nest) {
  std::int64_t steps = 1;
  for (std::size_t n = 0; n < nest.loops.size(); ++n) {
    if (!nest.is_reduce(int(n))) continue;
    const auto extent = ir::const_int(nest.extent(int(n)));
    if (!extent || *extent < 1 || __builtin_mul_overflow(steps, *extent, &steps) || steps > kMaxWindow)
      return std::nullopt;
  }
  return steps;
}

// Whether neighbouring windows along an axis overlap, or could.
bool slides_along(const ReductionNest& nest, const ir::Var* axis) {
  bool found = false;
  ir::walk(nest.update->value, [&](const ir::Node* n) {
    const auto* l = as<ir::BufferLoad>(n);
    if (!l || found) return !found;
    for (const ir::Expr* e : l->indices)
      for (std::size_t i = 0; i < nest.axes.size() && mentions(e, axis); ++i)
        found = found ||
                (nest.is_reduce(int(i)) && !ir::is_const(nest.extent(int(i)), 1) && mentions(e, nest.axes[i]->var));
    return !found;
  });
  return found;
}

// Rows along the dimension before the last: as many as divide it, if some do. Without a common element they only help
// where a row has few vectors.
void choose_rows(Reduction& r) {
  const auto window = window_of(r.nest);
  if (!window) return;
  const auto& indices = r.nest.update->indices;
  for (std::size_t n = indices.size() - 1; n-- > 0 && r.i < 0;)
    if (const int loop = r.nest.loop_of(indices[n]); loop >= 0 && !ir::is_const(r.nest.extent(loop), 1)) r.i = loop;
  const auto extent = r.i < 0 ? std::nullopt : ir::const_int(r.nest.extent(r.i));
  if (!extent || *extent < 2) return;
  if (r.tiles == kMaxTiles && !slides_along(r.nest, r.nest.axes[std::size_t(r.i)]->var)) return;
  const std::int64_t most = std::min({kMaxChains / r.tiles, kMaxWindow / (*window * r.tiles), *extent});
  r.rows = std::max<std::int64_t>(most, 1);
  for (std::int64_t n = r.rows; n >= 2 && *extent % r.rows != 0; --n)
    if (*extent % n == 0) r.rows = n;
}

std::optional<Reduction> match_lanes(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_reductions(loop);
  if (!nest || nest->update->indices.empty()) return std::nullopt;
  Reduction r;
  r.nest = std::move(*nest);
  r.j = r.nest.loop_of(r.nest.update->indices.back());
  if (r.j < 0) return std::nullopt;
  const bool several = r.nest.results.size() > 1;
  std::int64_t width = 4;
  for (const ReductionNest::Result& result : r.nest.results) {
    const ir::Buffer* out = result.update->buffer;
    if (!is_dense(out) || scene.views.contains(out)) return std::nullopt;
    if (several ? !has_vector_form(result.value) : result.value != r.nest.update->value) return std::nullopt;
    width = std::max(width, std::int64_t(out->dtype.bytes()));
  }
  if (!pays(r.nest, r.nest.axes[std::size_t(r.j)]->var)) return std::nullopt;
  r.lanes = std::max<std::int64_t>(scene.target.vector_bytes / width, 2);
  const std::int64_t extent = ir::const_int(r.nest.extent(r.j)).value_or(1 << 20);
  if (extent < 2) return std::nullopt;
  while (r.lanes > extent) r.lanes /= 2;
  const std::int64_t vectors = (extent - 1) / r.lanes + 1;
  r.whole = vectors <= kMaxTiles;
  r.tiles = std::min(vectors, kMaxTiles);
  if (!several) choose_rows(r);
  return r;
}

class ReductionWriter {
 public:
  ReductionWriter(const Scene& scene, const Reduction& r) : build_(scene.ctx), r_(r) {}

  std::vector<Stage> run(const ir::ForStmt* from, bool all) {
    std::vector<Stage> out;
    for (const StepId step : {StepId::Tile, StepId::CacheWrite, StepId::Vectorize}) {
      if (!all && step != StepId::Vectorize) continue;
      registers_ = step != StepId::Tile;
      vectors_ = step == StepId::Vectorize;
      allocs_.clear();
      const ir::Stmt* body = around(0);
      // No iteration, no init.
      const ir::Expr* some = nullptr;
      for (std::size_t n = 0; n < r_.nest.loops.size(); ++n)
        if (const ir::Expr* e = r_.nest.extent(int(n)); r_.nest.is_reduce(int(n)) && !runs(e))
          some = build_.both(some, ir::compare(build_.ctx, ir::BinaryKind::GT, e, build_.lit(e, 0)));
      if (some) body = build_.ctx.if_stmt(some, body);
      out.push_back({step, build_.block(from, allocs_, body, true)});
    }
    return out;
  }

 private:
  using E = const ir::Expr*;
  using S = const ir::Stmt*;

  void bind(std::size_t n, E value) {
    axes_[r_.nest.axes[n]->var] = value;
    axes_[r_.nest.loops[n]->var] = value;
  }
  std::string name(std::size_t n) const { return std::string(r_.nest.loops[n]->var->name); }

  // The spatial loops but for i and j, then the rows of i, then the tiles of j.
  S around(std::size_t n) {
    const bool in_rows = r_.rows > 1;
    while (n < r_.nest.loops.size() && (r_.nest.is_reduce(int(n)) || int(n) == r_.j || (in_rows && int(n) == r_.i)))
      ++n;
    if (n == r_.nest.loops.size()) return in_rows ? rows() : tiles();
    const auto body = [&](E v) {
      bind(n, v);
      return around(n + 1);
    };
    return build_.loop(name(n), r_.nest.loops[n]->extent, body, r_.nest.loops[n]->for_kind);
  }

  // Blocks of rows, then those that are left.
  S rows() {
    const E total = r_.nest.extent(r_.i);
    const auto some = [&](E start, std::int64_t count) {
      row_ = start;
      rows_ = count;
      bind(std::size_t(r_.i), start);
      return tiles();
    };
    const std::int64_t left = *ir::const_int(total) % r_.rows;
    S blocks = build_.loop(name(std::size_t(r_.i)) + "_0", build_.whole(total, r_.rows),
                           [&](E block) { return some(build_.scaled(block, r_.rows), r_.rows); });
    return build_.seq({blocks, left > 0 ? some(build_.plus(total, -left), left) : nullptr});
  }

  // As many tiles as fit, then single vectors. The last one ends with the last element: elements that the one before
  // it has too are computed again. Single elements only where there is no whole vector.
  S tiles() {
    const E total = r_.nest.extent(r_.j);
    if (r_.whole) return tile(build_.lit(total, 0), r_.tiles, r_.lanes);
    const std::int64_t wide = r_.lanes * r_.tiles;
    std::vector<S> out{tile_loop(build_.lit(total, 0), build_.whole(total, wide), r_.tiles, r_.lanes)};
    if (r_.tiles > 1) out.push_back(single_vectors(total, wide));
    const E left = build_.rest(total, r_.lanes);
    if (ir::is_const(left, 0)) return build_.seq(out);
    const auto last = [&] { return tile(build_.plus(total, -r_.lanes), 1, r_.lanes); };
    if (ir::const_int(total)) {
      out.push_back(last());
      return build_.seq(out);
    }
    ir::Context& ctx = build_.ctx;
    const E some = ir::compare(ctx, ir::BinaryKind::GT, left, build_.lit(total, 0));
    const E vector = ir::compare(ctx, ir::BinaryKind::GE, total, build_.lit(total, r_.lanes));
    const S elements = tile_loop(build_.lit(total, 0), total, 1, 1);
    out.push_back(ctx.if_stmt(some, ctx.if_stmt(vector, last(), elements)));
    return build_.seq(out);
  }

  // Those after the whole tiles: a tile of their own if their number is known.
  S single_vectors(E total, std::int64_t wide) {
    const E start = build_.scaled(build_.whole(total, wide), wide);
    const E count = build_.whole(build_.rest(total, wide), r_.lanes);
    const auto known = ir::const_int(count);
    if (known && *known > 0) return tile(start, *known, r_.lanes);
    return tile_loop(start, count, 1, r_.lanes);
  }

  S tile_loop(E start, E count, std::int64_t vectors, std::int64_t lanes) {
    if (ir::is_const(count, 0)) return nullptr;
    return build_.loop(name(std::size_t(r_.j)) + "_0", count, [&](E block) {
      const E at = build_.add(start, build_.scaled(block, vectors * lanes));
      return tile(at, vectors, lanes);
    });
  }

  // The elements of a tile: `f` of the position in the tile; i and j are bound.
  using ElementFn = std::function<S(E in_tile)>;
  S each(E at, std::int64_t vectors, std::int64_t lanes, const ElementFn& f) {
    if (rows_ == 1) return each_of_row(at, vectors, lanes, build_.lit(at, 0), f);
    const E like = r_.nest.extent(r_.i);
    return build_.loop(
        name(std::size_t(r_.i)) + "_1", like, rows_,
        [&](E row) {
          bind(std::size_t(r_.i), build_.add(row_, row));
          const E first = build_.scaled(ir::cast_to(build_.ctx, at->dtype(), row), vectors * lanes);
          return each_of_row(at, vectors, lanes, first, f);
        },
        vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
  }
  // `first`: the position of the row in the tile.
  S each_of_row(E at, std::int64_t vectors, std::int64_t lanes, E first, const ElementFn& f) {
    const std::string j = name(std::size_t(r_.j));
    const E total = r_.nest.extent(r_.j);
    const bool overlaps = r_.whole && !ir::is_const(build_.rest(total, lanes), 0);
    const auto element = [&](E vector, E lane) {
      const E start = build_.scaled(vector, lanes);
      const E place = overlaps ? ir::min(build_.ctx, start, build_.plus(total, -lanes)) : start;
      bind(std::size_t(r_.j), build_.add(build_.add(at, place), lane));
      return f(build_.add(first, build_.add(start, lane)));
    };
    // Where sums are in the result itself, an element may be added to once only.
    if (overlaps && !registers_)
      return build_.loop(j + "_1", total, [&](E x) {
        bind(std::size_t(r_.j), x);
        return f(x);
      });
    if (lanes == 1 || (!vectors_ && !overlaps))
      return build_.loop(j + "_1", at, vectors * lanes, [&](E x) { return element(build_.lit(at, 0), x); });
    return build_.loop(
        j + "_1", at, vectors,
        [&](E u) {
          return build_.loop(
              j + "_2", at, lanes, [&](E l) { return element(u, l); },
              vectors_ ? ir::ForKind::Vectorized : ir::ForKind::Serial);
        },
        vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
  }

  S tile(E at, std::int64_t vectors, std::int64_t lanes) {
    const std::vector<ReductionNest::Result>& results = r_.nest.results;
    const E shape = build_.lit(at, rows_ * vectors * lanes);
    locals_.clear();
    next_.clear();
    for (const ReductionNest::Result& r : results) {
      if (registers_) locals_.push_back(local(r.update->buffer, "_local", shape));
      if (results.size() > 1) next_.push_back(local(r.update->buffer, "_next", shape));
    }
    const auto all = [&](const std::function<S(std::size_t, E)>& f) {
      std::vector<S> made;
      for (std::size_t i = 0; i < results.size(); ++i)
        made.push_back(each(at, vectors, lanes, [&](E x) { return f(i, x); }));
      return build_.seq(std::move(made));
    };
    S init = all([&](std::size_t i, E x) { return accumulate(i, results[i].init->value, x, results[i].init); });
    unrolled_from_ = first_unrolled(vectors);
    S sum = reduce(0, [&] {
      const auto value = [&](std::size_t i, E x) { return value_of(results[i], x); };
      if (next_.empty())
        return all([&](std::size_t i, E x) { return accumulate(i, value(i, x), x, results[i].update); });
      // All values, before any is replaced.
      S values = all([&](std::size_t i, E x) { return stored(next_[i], value(i, x), {x}, results[i].update); });
      S moved =
          all([&](std::size_t i, E x) { return accumulate(i, build_.load(next_[i], {x}), x, results[i].update); });
      return build_.seq({values, moved});
    });
    const auto back = [&](std::size_t i, E x) {
      return stored(results[i].update->buffer, build_.load(locals_[i], {x}), indices(), results[i].update);
    };
    return build_.seq({init, sum, registers_ ? all(back) : nullptr});
  }

  const ir::Buffer* local(const ir::Buffer* of, const char* suffix, E shape) {
    allocs_.push_back(
        build_.ctx.buffer(build_.ctx.str(std::string(of->name) + suffix), {&shape, 1}, of->dtype, "local"));
    return allocs_.back();
  }
  S stored(const ir::Buffer* b, E value, const std::vector<E>& at, const ir::Node* from) {
    S made = build_.ctx.store(b, value, at);
    build_.ctx.set_origin(made, from);
    return made;
  }
  // In the tile, or where the text has it.
  S accumulate(std::size_t i, E value, E in_tile, const ir::Node* from) {
    if (registers_) return stored(locals_[i], value, {in_tile}, from);
    return stored(r_.nest.results[i].update->buffer, value, indices(), from);
  }
  E value_of(const ReductionNest::Result& result, E in_tile) {
    Retarget value(build_.ctx, axes_, [&](const ir::BufferLoad* l) -> E {
      const auto own = registers_ ? result_of(r_.nest, l) : std::nullopt;
      return own ? build_.load(locals_[*own], {in_tile}) : nullptr;
    });
    return value.rewrite(result.value);
  }

  std::vector<E> indices() {
    std::vector<E> out;
    for (const ir::Expr* e : r_.nest.update->indices) out.push_back(ir::substitute(build_.ctx, e, axes_));
    return out;
  }

  // The innermost reduction loops that are short enough are unrolled: the first of them.
  std::size_t first_unrolled(std::int64_t vectors) const {
    std::size_t first = r_.nest.loops.size();
    const std::int64_t most = rows_ > 1 ? kMaxWindow : kMaxUnrolled;
    std::int64_t steps = std::max<std::int64_t>(vectors * rows_, 1);
    for (std::size_t n = first; n-- > 0 && vectors_;) {
      if (!r_.nest.is_reduce(int(n))) continue;
      const auto extent = ir::const_int(r_.nest.extent(int(n)));
      if (!extent || __builtin_mul_overflow(steps, *extent, &steps) || steps > most) break;
      first = n;
    }
    return first;
  }

  S reduce(std::size_t n, const std::function<S()>& inner) {
    while (n < r_.nest.loops.size() && !r_.nest.is_reduce(int(n))) ++n;
    if (n == r_.nest.loops.size()) return inner();
    const auto body = [&](E v) {
      bind(n, v);
      return reduce(n + 1, inner);
    };
    return build_.loop(name(n), r_.nest.loops[n]->extent, body,
                       n >= unrolled_from_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
  }

  Build build_;
  const Reduction& r_;
  bool registers_ = false, vectors_ = false;
  std::size_t unrolled_from_ = 0;
  E row_ = nullptr;  // the first of the rows that are done at once
  std::int64_t rows_ = 1;
  ir::VarMap axes_;
  std::vector<const ir::Buffer*> locals_;  // the results of the tile
  std::vector<const ir::Buffer*> next_;    // what they will be, if there are several
  std::vector<const ir::Buffer*> allocs_;
};

}  // namespace

std::vector<Stage> schedule_reduction(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  const auto r = match_lanes(scene, loop);
  if (!r) return {};
  return ReductionWriter(scene, *r).run(loop, scene.all_steps);
}

}  // namespace rldb::schedule
