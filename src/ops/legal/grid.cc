// Legalisation: images sampled at the points of a grid.
#include "ops/layout.h"
#include "ops/legal/util.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op_attr/image_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"

namespace rldb::ops::legal {

using ir::BinaryKind;

namespace {

struct Grid {
  std::string letters;  // the spatial axes, outermost first
  Layout layout;
  std::string_view method, padding;
  bool corners, last;  // last: the coordinates are the last axis of the grid, not its second
};

struct Sampler {
  Topi& t;
  ir::Context& ctx;
  const Grid& grid;
  Tensor data, places;
  DType d;

  const Expr* lit(double v) const { return t.lit(d, v); }
  const Expr* real(const Expr* e) const { return ir::cast_to(ctx, d, e); }
  const Expr* extent(std::size_t axis) const {
    return data->shape[std::size_t(grid.layout.index_of(grid.letters[axis]))];
  }

  const Expr* last_index(std::size_t axis) const { return simplify(ctx, ir::sub(ctx, extent(axis), t.i64(1))); }
  const Expr* last(std::size_t axis) const { return real(last_index(axis)); }

  // -1 and 1 are the centres of the outer pixels (corners) or their outer edges.
  const Expr* unscaled(const Expr* place, std::size_t axis) const {
    const Expr* from_zero = ir::add(ctx, place, lit(1));
    const Expr* size = grid.corners ? last(axis) : real(extent(axis));
    const Expr* pixels = ir::div(ctx, ir::mul(ctx, from_zero, size), lit(2));
    return grid.corners ? pixels : ir::add(ctx, lit(-0.5), pixels);
  }
  const Expr* clipped(const Expr* place, std::size_t axis) const {
    return ir::min(ctx, ir::max(ctx, place, lit(0)), last(axis));
  }
  // Reflected back into the image, as often as it takes.
  const Expr* reflected(const Expr* place, std::size_t axis) const {
    const Expr* start = grid.corners ? lit(0) : lit(-0.5);
    const Expr* size = grid.corners ? ir::sub(ctx, real(extent(axis)), lit(1)) : real(extent(axis));
    const Expr* beyond = ir::sub(ctx, place, start);
    const Expr* distance = t.intrin(ir::intrin::Fabs, beyond);
    // An image of one pixel has nothing to reflect at.
    const Expr* safe = ctx.select(t.eq(size, lit(0)), lit(1), size);
    const Expr* times = t.intrin(ir::intrin::Floor, ir::div(ctx, distance, safe));
    const Expr* rest = ir::sub(ctx, distance, ir::mul(ctx, times, safe));
    const Expr* half = ir::mul(ctx, times, lit(0.5));
    const Expr* even = t.eq(t.intrin(ir::intrin::Floor, half), half);
    const Expr* back = ctx.select(even, ir::add(ctx, rest, start), ir::add(ctx, ir::sub(ctx, safe, rest), start));
    return clipped(ctx.select(t.eq(size, lit(0)), lit(0), back), axis);
  }
  const Expr* padded(const Expr* place, std::size_t axis) const {
    if (grid.padding == "border") return clipped(place, axis);
    return grid.padding == "reflection" ? reflected(place, axis) : place;
  }

  // Indices of one axis with their weights, in the form of TVM: the whole part of a place is an int32 where it is
  // subtracted from it.
  struct Tap {
    const Expr *index, *weight;
  };
  std::vector<Tap> taps(const Expr* place, std::size_t axis) const {
    const DType i64 = DType::Int(64);
    if (grid.method == "nearest")
      return {{ctx.cast(i64, t.intrin(ir::intrin::Nearbyint, padded(place, axis))), lit(1)}};
    const Expr* at = grid.method == "bicubic" ? place : padded(place, axis);
    const Expr* low = t.intrin(ir::intrin::Floor, at);
    const Expr* index = ctx.cast(i64, low);
    const Expr* part = ir::sub(ctx, at, ctx.cast(d, ctx.cast(DType::Int(32), low)));
    if (grid.method == "bilinear") return {{index, ir::sub(ctx, lit(1), part)}, {ir::add(ctx, index, t.i64(1)), part}};
    // Cubic convolution; the taps are padded one by one.
    constexpr double kAlpha = -0.75;
    const auto times = [&](const Expr* a, const Expr* b) { return ir::mul(ctx, a, b); };
    const auto near = [&](const Expr* x) {
      const Expr* e = ir::sub(ctx, times(lit(kAlpha + 2), x), lit(kAlpha + 3));
      return ir::add(ctx, times(times(e, x), x), lit(1));
    };
    const auto far = [&](const Expr* x) {
      const Expr* e = times(ir::sub(ctx, times(lit(kAlpha), x), lit(5 * kAlpha)), x);
      return ir::sub(ctx, times(ir::add(ctx, e, lit(8 * kAlpha)), x), lit(4 * kAlpha));
    };
    const Expr* weights[] = {far(ir::add(ctx, part, lit(1))), near(part), near(ir::sub(ctx, lit(1), part)),
                             far(ir::sub(ctx, lit(2), part))};
    std::vector<Tap> out;
    for (int k = 0; k < 4; ++k) {
      const Expr* tap = ir::add(ctx, index, t.i64(k - 1));
      if (grid.padding == "border") tap = ir::min(ctx, ir::max(ctx, tap, t.i64(0)), last_index(axis));
      if (grid.padding == "reflection") tap = ctx.cast(i64, reflected(ir::add(ctx, low, lit(k - 1)), axis));
      out.push_back({tap, weights[k]});
    }
    return out;
  }

  // The pixel at one index per axis; 0 outside the image.
  const Expr* pixel(const ExprList& at, const ExprList& indices) const {
    ExprList place = at, inside;
    for (const Expr* index : indices) inside.push_back(t.le(t.i64(0), index));
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      inside.push_back(t.lt(indices[axis], extent(axis)));
      place[std::size_t(grid.layout.index_of(grid.letters[axis]))] = indices[axis];
    }
    const Expr* value = t.g.load(data, std::span<const Expr* const>(place));
    return real(t.if_else(t.all(inside), value, t.lit(data->dtype, 0)));
  }

  const Expr* sum(const std::vector<std::vector<Tap>>& of, const ExprList& at) const {
    const auto plus = [&](const Expr* a, const Expr* b) { return a ? ir::add(ctx, a, b) : b; };
    const Expr* total = nullptr;
    if (grid.method == "nearest") {
      ExprList indices;
      for (const auto& taps : of) indices.push_back(taps[0].index);
      return pixel(at, indices);
    }
    if (of.size() == 3) {
      // Corners z, y, x in the order in which TVM adds them.
      constexpr int kCorners[][3] = {{0, 0, 0}, {0, 0, 1}, {1, 1, 0}, {1, 1, 1},
                                     {0, 1, 0}, {1, 0, 1}, {1, 0, 0}, {0, 1, 1}};
      for (const auto& [kz, ky, kx] : kCorners) {
        const Tap &z = of[0][std::size_t(kz)], &y = of[1][std::size_t(ky)], &x = of[2][std::size_t(kx)];
        const Expr* part = ir::mul(ctx, pixel(at, {z.index, y.index, x.index}), x.weight);
        total = plus(total, ir::mul(ctx, ir::mul(ctx, part, y.weight), z.weight));
      }
      return total;
    }
    const bool by_rows = grid.method == "bicubic";
    for (const Tap& y : of[0]) {
      const Expr* row = nullptr;
      for (const Tap& x : of[1]) {
        const Expr* p = pixel(at, {y.index, x.index});
        if (by_rows)
          row = plus(row, ir::mul(ctx, p, x.weight));
        else
          total = plus(total, ir::mul(ctx, ir::mul(ctx, p, y.weight), x.weight));
      }
      if (by_rows) total = plus(total, ir::mul(ctx, row, y.weight));
    }
    return total;
  }

  const Expr* element(Indices i) const {
    const auto along = [&](char letter) -> const Expr* { return i[std::size_t(grid.layout.index_of(letter))]; };
    std::vector<std::vector<Tap>> of;
    for (std::size_t axis = 0; axis < grid.letters.size(); ++axis) {
      // The first coordinate is that of the innermost axis.
      const Expr* which = t.i64(std::int64_t(grid.letters.size() - 1 - axis));
      ExprList place{along('N')};
      if (!grid.last) place.push_back(which);
      for (char s : grid.letters) place.push_back(along(s));
      if (grid.last) place.push_back(which);
      of.push_back(taps(unscaled(real(t.g.load(places, std::span<const Expr* const>(place))), axis), axis));
    }
    ExprList at(data->shape.size(), nullptr);
    at[std::size_t(grid.layout.index_of('N'))] = along('N');
    at[std::size_t(grid.layout.index_of('C'))] = along('C');
    return ir::cast_to(ctx, data->dtype, sum(of, at));
  }
};

}  // namespace

Result<const Expr*> grid_sample(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* g, known_arg(c, 1));
  RLDB_TRY(const TensorType* out, known_result(c));
  if (!x->dtype.is_float() || !g->dtype.is_float()) return refuse(c, "the data or the grid are not floats");
  Grid grid;
  grid.letters = x->ndim == 5 ? "DHW" : "HW";
  RLDB_TRY(grid.layout, layout_of(*find(c->callee), attr_string(spec(c), op_attr::Layout), "NC" + grid.letters));
  grid.method = attr_string(spec(c), op_attr::Method);
  grid.padding = attr_string(spec(c), op_attr::PaddingMode);
  grid.corners = attr_bool(spec(c), op_attr::AlignCorners);
  grid.last = coordinates_last(g, grid.letters.size());
  const bool known =
      grid.method == "nearest" || grid.method == "bilinear" || (grid.method == "bicubic" && x->ndim == 4);
  if (!known) return refuse(c, "the method \"" + std::string(grid.method) + "\" is not lowered");
  if (grid.padding != "zeros" && grid.padding != "border" && grid.padding != "reflection")
    return refuse(c, "the padding \"" + std::string(grid.padding) + "\" is not lowered");
  return l.call_te("grid_sample", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    const Sampler s{t, te.ctx, grid, te.in[0], te.in[1], g->dtype};
    return {te.graph.compute(
        mapped(te, out->shape), [&](Indices i) { return s.element(i); }, "grid_sample")};
  });
}

}  // namespace rldb::ops::legal
