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

  // -1 and 1 are the centres of the outer pixels (corners) or their outer edges.
  const Expr* unscaled(const Expr* place, std::size_t axis) const {
    const Expr* size = real(extent(axis));
    const Expr* from_zero = ir::add(ctx, place, lit(1));
    if (grid.corners) return ir::mul(ctx, ir::mul(ctx, from_zero, ir::sub(ctx, size, lit(1))), lit(0.5));
    return ir::sub(ctx, ir::mul(ctx, ir::mul(ctx, from_zero, size), lit(0.5)), lit(0.5));
  }
  const Expr* clipped(const Expr* place, std::size_t axis) const {
    return ir::max(ctx, ir::min(ctx, place, ir::sub(ctx, real(extent(axis)), lit(1))), lit(0));
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

  // Indices of one axis with their weights; the index is a whole number in `d`.
  struct Tap {
    const Expr *place, *weight;
  };
  std::vector<Tap> taps(const Expr* place, std::size_t axis) const {
    if (grid.method == "nearest") return {{t.intrin(ir::intrin::Nearbyint, padded(place, axis)), lit(1)}};
    const Expr* at = grid.method == "bicubic" ? place : padded(place, axis);
    const Expr* low = t.intrin(ir::intrin::Floor, at);
    const Expr* w = ir::sub(ctx, at, low);
    if (grid.method == "bilinear") return {{low, ir::sub(ctx, lit(1), w)}, {ir::add(ctx, low, lit(1)), w}};
    // Cubic convolution; the taps are padded one by one.
    constexpr double kAlpha = -0.75;
    const auto poly = [&](const Expr* x, double c3, double c2, double c1, double c0) {
      const Expr* e = ir::add(ctx, ir::mul(ctx, lit(c3), x), lit(c2));
      e = ir::add(ctx, ir::mul(ctx, e, x), lit(c1));
      return ir::add(ctx, ir::mul(ctx, e, x), lit(c0));
    };
    const auto near = [&](const Expr* x) { return poly(x, kAlpha + 2, -(kAlpha + 3), 0, 1); };
    const auto far = [&](const Expr* x) { return poly(x, kAlpha, -5 * kAlpha, 8 * kAlpha, -4 * kAlpha); };
    const Expr* rest = ir::sub(ctx, lit(1), w);
    const Expr* weights[] = {far(ir::add(ctx, w, lit(1))), near(w), near(rest), far(ir::add(ctx, rest, lit(1)))};
    std::vector<Tap> out;
    for (int k = 0; k < 4; ++k) out.push_back({padded(ir::add(ctx, low, lit(k - 1)), axis), weights[k]});
    return out;
  }

  // The weighted sum over the box of taps; pixels outside the image are 0.
  const Expr* sum(const std::vector<std::vector<Tap>>& of, std::size_t axis, ExprList& at, const Expr* inside,
                  const Expr* weight) const {
    if (axis == of.size()) {
      const Expr* pixel = t.if_else(inside, t.g.load(data, std::span<const Expr* const>(at)), t.lit(data->dtype, 0));
      return ir::mul(ctx, real(pixel), weight);
    }
    const Expr* total = nullptr;
    for (const Tap& tap : of[axis]) {
      const Expr* index = ctx.cast(DType::Int(64), tap.place);
      const Expr* in = ir::logical_and(ctx, t.le(t.i64(0), index), t.lt(index, extent(axis)));
      at[std::size_t(grid.layout.index_of(grid.letters[axis]))] = index;
      const Expr* part = sum(of, axis + 1, at, inside ? ir::logical_and(ctx, inside, in) : in,
                             weight ? ir::mul(ctx, weight, tap.weight) : tap.weight);
      total = total ? ir::add(ctx, total, part) : part;
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
    return ir::cast_to(ctx, data->dtype, sum(of, 0, at, nullptr, nullptr));
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
