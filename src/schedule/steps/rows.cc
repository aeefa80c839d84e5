// Reductions along rows (sums and maxima over the last axis, alone or inside softmax and norms): lanes are rows. A
// block of as many rows as a vector has lanes is copied, transposed, into registers, a square piece at a time, and each
// lane accumulates the elements of its own row in the text's order.
//
// Rows that are left over form a block with rows that are done already: these are computed twice, with the same result.
// A reduction with several results (a sum and one of squares, a maximum and its place) calculates the values of all in
// registers before it replaces any.
#include <algorithm>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/schedule/step_id.h"
#include "schedule/steps/steps.h"

namespace rldb::schedule {

using ir::as;

namespace {

constexpr std::size_t kMaxStaged = 3;
constexpr std::int64_t kLeastRows = 4;      // in a block
constexpr std::int64_t kSmallPiece = 4;     // of what is left of a row
constexpr std::int64_t kLeastElements = 8;  // in a row of known length

struct RowReduction {
  ReductionNest nest;
  int row = -1;  // the loop along which lanes lie
  int k = -1;    // the loop along the rows: the innermost one that reduces
  std::int64_t lanes = 0;
  std::vector<const ir::BufferLoad*> staged;  // loads that move with both
};

// The loads of the reduced values; nullopt: they contain what has no vector form.
std::optional<std::vector<const ir::BufferLoad*>> loads_of(const ReductionNest& nest) {
  std::vector<const ir::BufferLoad*> loads;
  bool simple = true;
  for (const ReductionNest::Result& result : nest.results) {
    if (!has_vector_form(result.value)) return std::nullopt;
    ir::walk(result.value, [&](const ir::Node* n) {
      const auto* l = as<ir::BufferLoad>(n);
      if (l && std::none_of(nest.results.begin(), nest.results.end(),
                            [&](const ReductionNest::Result& r) { return r.update->buffer == l->buffer; })) {
        loads.push_back(l);
        for (const ir::Expr* e : l->indices)
          ir::walk(e, [&](const ir::Node* part) { return simple = simple && !as<ir::BufferLoad>(part); });
      }
      return simple;
    });
  }
  if (!simple) return std::nullopt;
  return loads;
}

// Whether a load runs along the axis because the dimensions after it have one element: a vector as a column.
bool runs_in_column(const ir::BufferLoad* l, const ir::Var* axis) {
  if (!l->buffer->strides.empty()) return false;
  std::size_t last = l->indices.size();
  while (last > 0 && ir::is_const(l->buffer->shape[last - 1], 1)) --last;
  if (last == 0 || l->indices[last - 1] != axis) return false;
  return std::none_of(l->indices.begin(), l->indices.end(),
                      [&](const ir::Expr* e) { return e != axis && mentions(e, axis); });
}

// The loads that a block of rows along this axis has to transpose; none: the axis does not fit.
std::vector<const ir::BufferLoad*> staged_loads(const std::vector<const ir::BufferLoad*>& loads, const ir::Var* row,
                                                const ir::Var* k) {
  std::vector<const ir::BufferLoad*> staged;
  for (const ir::BufferLoad* l : loads) {
    if (!moves_with(l, k)) continue;
    if (!moves_with(l, row) && runs_in_column(l, k)) continue;
    if (!runs_along(l, k)) return {};
    if (!moves_with(l, row)) continue;
    const ir::DType t = l->buffer->dtype;
    if (mentions(l->indices.back(), row) || t.is_bool() || t.bits < 8) return {};
    const auto same = [&](const ir::BufferLoad* other) { return ir::expr_equal(other, l); };
    if (std::none_of(staged.begin(), staged.end(), same)) staged.push_back(l);
  }
  return staged.size() > kMaxStaged ? std::vector<const ir::BufferLoad*>() : staged;
}

bool is_reduced(const ReductionNest& nest, const ir::BufferLoad* l) {
  for (std::size_t n = 0; n < nest.loops.size(); ++n)
    if (nest.is_reduce(int(n)) && moves_with(l, nest.axes[n]->var)) return true;
  return false;
}

std::optional<RowReduction> match_rows(const Scene& scene, const ir::ForStmt* loop) {
  auto nest = match_reductions(loop);
  if (!nest) return std::nullopt;
  RowReduction r;
  r.nest = std::move(*nest);
  std::size_t bytes = 4;
  for (const ReductionNest::Result& result : r.nest.results) {
    const ir::Buffer* out = result.update->buffer;
    if (scene.views.contains(out)) return std::nullopt;
    bytes = std::max(bytes, out->dtype.bytes());
  }
  for (std::size_t n = 0; n < r.nest.loops.size(); ++n)
    if (r.nest.is_reduce(int(n))) r.k = int(n);
  const ir::Var* k = r.nest.axes[std::size_t(r.k)]->var;
  if (ir::const_int(r.nest.extent(r.k)).value_or(kLeastElements) < kLeastElements) return std::nullopt;
  const auto loads = loads_of(r.nest);
  if (!loads) return std::nullopt;
  const std::int64_t most = std::max<std::int64_t>(scene.target.vector_bytes / std::int64_t(bytes), 2);
  bool last = true;
  for (std::size_t i = r.nest.update->indices.size(); i-- > 0;) {
    const int n = r.nest.loop_of(r.nest.update->indices[i]);
    if (n < 0 || ir::is_const(r.nest.extent(n), 1)) continue;
    const ir::Var* row = r.nest.axes[std::size_t(n)]->var;
    // Neighbouring outputs that read neighbours are vectors as they are (reduction.cc).
    if (std::exchange(last, false) && std::any_of(loads->begin(), loads->end(), [&](const ir::BufferLoad* l) {
          return runs_along(l, row) && is_reduced(r.nest, l);
        }))
      return std::nullopt;
    const std::int64_t extent = ir::const_int(r.nest.extent(n)).value_or(most);
    if (extent < std::min(kLeastRows, most)) continue;
    r.staged = staged_loads(*loads, row, k);
    if (r.staged.empty()) continue;
    r.row = n;
    for (r.lanes = most; r.lanes > extent; r.lanes /= 2) {
    }
    return r;
  }
  return std::nullopt;
}

class RowsWriter {
 public:
  RowsWriter(const Scene& scene, const RowReduction& r) : build_(scene.ctx), r_(r) {}

  std::vector<Stage> run(const ir::ForStmt* from, bool all) {
    std::vector<Stage> out;
    for (const StepId step : {StepId::Tile, StepId::Pack, StepId::CacheWrite, StepId::Vectorize}) {
      if (!all && step != StepId::Vectorize) continue;
      packed_ = step != StepId::Tile;
      registers_ = packed_ && step != StepId::Pack;
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

  void bind(int n, E value) {
    axes_[r_.nest.axes[std::size_t(n)]->var] = value;
    axes_[r_.nest.loops[std::size_t(n)]->var] = value;
  }
  std::string name(int n) const { return std::string(r_.nest.loops[std::size_t(n)]->var->name); }

  // The spatial loops but for the rows, then blocks of rows.
  S around(std::size_t n) {
    while (n < r_.nest.loops.size() && (r_.nest.is_reduce(int(n)) || int(n) == r_.row)) ++n;
    if (n == r_.nest.loops.size()) return blocks();
    const auto body = [&](E v) {
      bind(int(n), v);
      return around(n + 1);
    };
    return build_.loop(name(int(n)), r_.nest.loops[n]->extent, body, r_.nest.loops[n]->for_kind);
  }

  S blocks() {
    const E total = r_.nest.extent(r_.row);
    S whole = build_.loop(name(r_.row) + "_0", build_.whole(total, r_.lanes),
                          [&](E b) { return block(build_.scaled(b, r_.lanes), r_.lanes); });
    const E rest = build_.rest(total, r_.lanes);
    if (ir::is_const(rest, 0)) return whole;
    S last = block(build_.plus(total, -r_.lanes), r_.lanes);
    if (ir::const_int(total)) return build_.seq({whole, last});
    ir::Context& ctx = build_.ctx;
    last = ctx.if_stmt(ir::compare(ctx, ir::BinaryKind::GT, rest, build_.lit(rest, 0)), last);
    S few = build_.loop(name(r_.row) + "_0", total, [&](E i) { return block(i, 1); });
    const E enough = ir::compare(ctx, ir::BinaryKind::GE, total, build_.lit(total, r_.lanes));
    return ctx.if_stmt(enough, build_.seq({whole, last}), few);
  }

  // `f` of the number of the row in the block; the row's axis is bound to it.
  S each_row(const std::function<S(E)>& f) {
    return build_.loop(
        name(r_.row) + "_1", start_, lanes_,
        [&](E r) {
          bind(r_.row, build_.add(start_, r));
          return f(r);
        },
        vectors_ ? ir::ForKind::Vectorized : ir::ForKind::Serial);
  }

  S block(E start, std::int64_t lanes) {
    start_ = start;
    lanes_ = lanes;
    locals_.clear();
    values_.clear();
    const E shape = build_.lit(start, lanes);
    const auto local = [&](const ir::Buffer* of, const char* suffix) {
      allocs_.push_back(
          build_.ctx.buffer(build_.ctx.str(std::string(of->name) + suffix), {&shape, 1}, of->dtype, "local"));
      return allocs_.back();
    };
    for (const ReductionNest::Result& r : r_.nest.results)
      if (registers_) locals_.push_back(local(r.update->buffer, "_local"));
    if (r_.nest.results.size() > 1)
      for (const ReductionNest::Result& r : r_.nest.results) values_.push_back(local(r.update->buffer, "_next"));
    std::vector<S> all;
    for (std::size_t i = 0; i < r_.nest.results.size(); ++i) {
      const ReductionNest::Result& result = r_.nest.results[i];
      all.push_back(each_row([&](E r) { return accumulate(i, r, result.init->value, result.init); }));
    }
    all.push_back(reduce(0));
    for (std::size_t i = 0; i < locals_.size(); ++i) {
      const ir::BufferStore* update = r_.nest.results[i].update;
      all.push_back(
          each_row([&](E r) { return stored(update->buffer, build_.load(locals_[i], {r}), indices(), update); }));
    }
    return build_.seq(all);
  }

  // The loops that reduce, with the last one in pieces.
  S reduce(int n) {
    while (n < r_.k && !r_.nest.is_reduce(n)) ++n;
    if (n == r_.k) return pieces();
    return build_.loop(name(n), r_.nest.extent(n), [&](E v) {
      bind(n, v);
      return reduce(n + 1);
    });
  }

  S pieces() {
    const E total = r_.nest.extent(r_.k);
    if (lanes_ == 1) return each_element(build_.lit(total, 0), total);
    std::vector<S> all;
    E start = build_.lit(total, 0), left = total;
    for (const std::int64_t size : {r_.lanes, kSmallPiece}) {
      if (size > r_.lanes || (size == kSmallPiece && r_.lanes == kSmallPiece && !all.empty())) continue;
      const E count = build_.whole(left, size);
      if (!ir::is_const(count, 0))
        all.push_back(build_.loop(name(r_.k) + "_0", count,
                                  [&](E b) { return piece(build_.add(start, build_.scaled(b, size)), size); }));
      start = build_.add(start, build_.scaled(count, size));
      left = build_.rest(left, size);
    }
    if (!ir::is_const(left, 0)) all.push_back(each_element(start, left));
    return build_.seq(all);
  }

  S each_element(E start, E count) {
    return build_.loop(name(r_.k), count, [&](E k) {
      bind(r_.k, build_.add(start, k));
      return update_rows(nullptr);
    });
  }

  // So many elements of each row of the block.
  S piece(E start, std::int64_t size) {
    const auto along = [&](const std::function<S(E)>& f) {
      return build_.loop(
          name(r_.k) + "_1", start, size,
          [&](E k) {
            bind(r_.k, build_.add(start, k));
            return f(k);
          },
          vectors_ ? ir::ForKind::Unrolled : ir::ForKind::Serial);
    };
    if (!packed_) return along([&](E) { return update_rows(nullptr); });
    std::vector<S> all;
    tiles_.clear();
    for (const ir::BufferLoad* l : r_.staged) {
      const E shape[] = {build_.lit(start, size), build_.lit(start, lanes_)};
      tiles_.push_back(
          build_.ctx.buffer(build_.ctx.str(std::string(l->buffer->name) + "_rows"), shape, l->buffer->dtype, "local"));
      allocs_.push_back(tiles_.back());
      all.push_back(along([&](E k) {
        return each_row([&](E r) { return stored(tiles_.back(), ir::substitute(build_.ctx, l, axes_), {k, r}, l); });
      }));
    }
    all.push_back(along([&](E k) { return update_rows(k); }));
    return build_.seq(all);
  }

  // `in_piece`: the number of the element in the piece that was copied; null: none was.
  S update_rows(E in_piece) {
    std::vector<S> all;
    for (std::size_t i = 0; i < r_.nest.results.size(); ++i) {
      const ReductionNest::Result& result = r_.nest.results[i];
      all.push_back(each_row([&](E r) {
        const E value = of_row(result.value, r, in_piece);
        return values_.empty() ? accumulate(i, r, value, result.update) : stored(values_[i], value, {r}, result.update);
      }));
    }
    for (std::size_t i = 0; i < values_.size(); ++i)
      all.push_back(
          each_row([&](E r) { return accumulate(i, r, build_.load(values_[i], {r}), r_.nest.results[i].update); }));
    return build_.seq(all);
  }

  E of_row(E value, E r, E in_piece) {
    LoadsReplaced made(build_.ctx, axes_, [&](const ir::BufferLoad* l) -> E {
      for (std::size_t i = 0; i < r_.nest.results.size(); ++i)
        if (l->buffer == r_.nest.results[i].update->buffer)
          return locals_.empty() ? nullptr : build_.load(locals_[i], {r});
      if (!in_piece) return nullptr;
      for (std::size_t i = 0; i < r_.staged.size(); ++i)
        if (ir::expr_equal(r_.staged[i], l)) return build_.load(tiles_[i], {in_piece, r});
      return nullptr;
    });
    return made.rewrite(value);
  }

  S accumulate(std::size_t result, E r, E value, const ir::Node* from) {
    if (!locals_.empty()) return stored(locals_[result], value, {r}, from);
    return stored(r_.nest.results[result].update->buffer, value, indices(), from);
  }
  S stored(const ir::Buffer* b, E value, const std::vector<E>& at, const ir::Node* from) {
    S made = build_.ctx.store(b, value, at);
    build_.ctx.set_origin(made, from);
    return made;
  }
  std::vector<E> indices() {
    std::vector<E> out;
    for (const ir::Expr* e : r_.nest.update->indices) out.push_back(ir::substitute(build_.ctx, e, axes_));
    return out;
  }

  Build build_;
  const RowReduction& r_;
  bool packed_ = false, registers_ = false, vectors_ = false;
  E start_ = nullptr;                      // of the current block
  std::int64_t lanes_ = 1;                 // rows in it
  std::vector<const ir::Buffer*> locals_;  // the results of its rows; none: they are where the text has them
  std::vector<const ir::Buffer*> values_;  // that will be the results, if there are several
  std::vector<const ir::Buffer*> tiles_;   // of the staged loads
  ir::VarMap axes_;
  std::vector<const ir::Buffer*> allocs_;
};

}  // namespace

std::vector<Stage> schedule_rows(const Scene& scene, const ir::ForStmt* loop) {
  if (!scene.noalias) return {};
  const auto r = match_rows(scene, loop);
  if (!r) return {};
  return RowsWriter(scene, *r).run(loop, scene.all_steps);
}

}  // namespace rldb::schedule
