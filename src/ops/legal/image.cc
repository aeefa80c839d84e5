// Legalisation: resizing, affine grids, anchors.
#include "rldb/ir/op/image.h"

#include "ops/layout.h"
#include "ops/legal/util.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op_attr/image_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"

namespace rldb::ops::legal {

namespace {

struct Resize {
  std::string letters;
  Layout layout;
  std::string_view method, transform, rounding;
  double alpha;
  bool exclude;
};

constexpr double kEpsilon = 1e-5;

// Where output index `i` falls in the input, in float32.
const Expr* source_place(Topi& t, const Resize& r, const Expr* i, const Expr* in, const Expr* out) {
  ir::Context& ctx = t.ctx;
  DType f = DType::Float(32);
  const Expr* x = ir::cast_to(ctx, f, i);
  auto lit = [&](double v) { return t.lit(f, v); };
  auto ratio = [&](const Expr* a, const Expr* b) {
    return ir::div(ctx, ir::cast_to(ctx, f, a), ir::cast_to(ctx, f, b));
  };
  const Expr* scale = ratio(in, out);
  auto half_pixel = [&]() { return ir::sub(ctx, ir::mul(ctx, scale, ir::add(ctx, x, lit(0.5))), lit(0.5)); };
  if (r.transform == "half_pixel") return half_pixel();
  if (r.transform == "align_corners") {
    if (is_one(out)) return lit(0);
    return ir::mul(ctx, ratio(ir::sub(ctx, in, ctx.i64(1)), ir::sub(ctx, out, ctx.i64(1))), x);
  }
  if (r.transform == "pytorch_half_pixel") return is_one(out) ? lit(0) : half_pixel();
  if (r.transform == "tf_half_pixel_for_nn") return ir::mul(ctx, scale, ir::add(ctx, x, lit(0.5)));
  return ir::mul(ctx, scale, x);  // asymmetric
}

const Expr* nearest_index(Topi& t, const Resize& r, const Expr* place) {
  ir::Context& ctx = t.ctx;
  auto lit = [&](double v) { return t.lit(place->dtype(), v); };
  const Expr* e = nullptr;
  if (r.rounding == "round" || r.rounding.empty())
    e = t.intrin(ir::intrin::Round, place);
  else if (r.rounding == "round_prefer_floor")
    e = t.intrin(ir::intrin::Ceil, ir::sub(ctx, place, lit(0.5)));
  else if (r.rounding == "round_prefer_ceil")
    e = t.intrin(ir::intrin::Floor, ir::add(ctx, place, lit(0.5)));
  else if (r.rounding == "floor")
    e = t.intrin(ir::intrin::Floor, ir::add(ctx, place, lit(kEpsilon)));
  else
    e = t.intrin(ir::intrin::Ceil, ir::sub(ctx, place, lit(kEpsilon)));
  return ctx.cast(DType::Int(64), e);
}

const Expr* clamp_to(ir::Context& ctx, const Expr* i, const Expr* extent) {
  return ir::max(ctx, ir::min(ctx, i, ir::sub(ctx, extent, ctx.i64(1))), ctx.i64(0));
}

// Taps of one axis: index and weight.
struct Tap {
  const Expr* index;
  const Expr* weight;    // null: 1
  const Expr* in_range;  // null: always
};

std::vector<Tap> axis_taps(Topi& t, const Resize& r, const Expr* i, const Expr* in, const Expr* out) {
  ir::Context& ctx = t.ctx;
  DType f = DType::Float(32);
  const Expr* place = source_place(t, r, i, in, out);
  if (r.method == "nearest_neighbor") return {{clamp_to(ctx, nearest_index(t, r, place), in), nullptr, nullptr}};
  const Expr* low_f = t.intrin(ir::intrin::Floor, place);
  const Expr* low = ctx.cast(DType::Int(64), low_f);
  const Expr* w = ir::sub(ctx, place, low_f);
  if (r.method == "linear") {
    const Expr* rest = ir::sub(ctx, t.lit(f, 1), w);
    return {{clamp_to(ctx, low, in), rest, nullptr}, {clamp_to(ctx, ir::add(ctx, low, ctx.i64(1)), in), w, nullptr}};
  }
  // Cubic convolution (Keys) with parameter alpha.
  auto lit = [&](double v) { return t.lit(f, v); };
  auto mul = [&](const Expr* a, const Expr* b) { return ir::mul(ctx, a, b); };
  auto poly = [&](double c3, double c2, double c1, double c0) {
    const Expr* e = mul(lit(c3), w);
    e = mul(ir::add(ctx, e, lit(c2)), w);
    e = mul(ir::add(ctx, e, lit(c1)), w);
    return c0 == 0 ? e : ir::add(ctx, e, lit(c0));
  };
  double a = r.alpha;
  const Expr* weights[4] = {poly(a, -2 * a, a, 0), poly(a + 2, -(3 + a), 0, 1), poly(-(a + 2), 3 + 2 * a, -a, 0),
                            poly(-a, a, 0, 0)};
  std::vector<Tap> out_taps;
  for (int k = 0; k < 4; ++k) {
    const Expr* at = ir::add(ctx, low, ctx.i64(k - 1));
    const Expr* inside = r.exclude ? ir::logical_and(ctx, t.le(ctx.i64(0), at), t.lt(at, in)) : nullptr;
    out_taps.push_back({clamp_to(ctx, at, in), weights[k], inside});
  }
  if (!r.exclude) return out_taps;
  // Weights outside are dropped and the others scaled to a sum of one.
  const Expr* total = nullptr;
  for (Tap& tap : out_taps) {
    tap.weight = ctx.select(tap.in_range, tap.weight, lit(0));
    total = total ? ir::add(ctx, total, tap.weight) : tap.weight;
  }
  for (Tap& tap : out_taps) tap.weight = ir::div(ctx, tap.weight, total);
  return out_taps;
}

}  // namespace

Result<const Expr*> resize(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  Resize r;
  r.letters = op_name(c) == short_op::ImageResize3d ? "DHW" : "HW";
  RLDB_TRY(r.layout, layout_of(*find(c->callee), attr_string(spec(c), op_attr::Layout), "NC" + r.letters));
  r.method = attr_string(spec(c), op_attr::Method);
  r.transform = attr_string(spec(c), op_attr::CoordinateTransformationMode);
  r.rounding = attr_string(spec(c), op_attr::RoundingMethod);
  r.alpha = attr_float(spec(c), op_attr::CubicAlpha);
  r.exclude = attr_int(spec(c), op_attr::CubicExclude) != 0;
  if (r.transform == "tf_crop_and_resize") return refuse(c, "the mode tf_crop_and_resize is not lowered");
  if (r.method != "nearest_neighbor" && r.method != "linear" && r.method != "cubic")
    return refuse(c, "the method \"" + std::string(r.method) + "\" is not lowered");
  return l.call_te(r.letters.size() == 3 ? "resize3d" : "resize2d", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor x = te.in[0];
    ExprList shape = mapped(te, out->shape);
    return {te.graph.compute(
        shape,
        [&](Indices i) -> const Expr* {
          std::vector<std::vector<Tap>> taps;
          std::vector<std::size_t> at;
          for (char s : r.letters) {
            at.push_back(std::size_t(r.layout.index_of(s)));
            taps.push_back(axis_taps(t, r, i[at.back()], x->shape[at.back()], shape[at.back()]));
          }
          // The sum over the box of taps, innermost axis first.
          ExprList idx = topi::vars(i);
          std::function<const Expr*(std::size_t)> sum = [&](std::size_t k) -> const Expr* {
            if (k == taps.size()) {
              const Expr* v = te.graph.load(x, std::span<const Expr* const>(idx));
              return taps[0][0].weight ? ir::cast_to(te.ctx, DType::Float(32), v) : v;
            }
            const Expr* total = nullptr;
            for (const Tap& tap : taps[k]) {
              idx[at[k]] = tap.index;
              const Expr* v = sum(k + 1);
              if (tap.weight) v = ir::mul(te.ctx, v, tap.weight);
              total = total ? ir::add(te.ctx, total, v) : v;
            }
            return total;
          };
          return ir::cast_to(te.ctx, out->dtype, sum(0));
        },
        "resize")};
  });
}

// Coordinates from -1 to 1 mapped by each sample's 2 x 3 matrix.
Result<const Expr*> affine_grid(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  bool corners = attr_bool(spec(c), op_attr::AlignCorners);
  return l.call_te("affine_grid", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    ir::Context& ctx = te.ctx;
    Tensor m = te.in[0];
    DType d = m->dtype;
    ExprList shape = mapped(te, out->shape);
    auto coordinate = [&](const Expr* i, const Expr* n) {
      const Expr* x = ir::cast_to(ctx, d, i);
      const Expr* size = ir::cast_to(ctx, d, n);
      if (corners) {
        // TVM stays this much inside of the last point, which rounding would otherwise put outside of the image.
        constexpr double kWidth = 2 - 1e-7;
        const auto known = ir::const_int(n);
        const Expr* step = known && *known > 1
                               ? t.lit(d, kWidth / double(*known - 1))
                               : ir::div(ctx, t.lit(d, kWidth), ir::cast_to(ctx, d, ir::sub(ctx, n, t.i64(1))));
        return ir::add(ctx, t.lit(d, -1), ir::mul(ctx, x, step));
      }
      const Expr* twice = ir::add(ctx, ir::mul(ctx, x, t.lit(d, 2)), t.lit(d, 1));
      return ir::sub(ctx, ir::div(ctx, twice, size), t.lit(d, 1));
    };
    return {te.graph.compute(
        shape,
        [&](Indices i) -> const Expr* {
          const Expr* x = coordinate(i[3], shape[3]);
          const Expr* y = coordinate(i[2], shape[2]);
          auto at = [&](std::int64_t k) { return te.graph.load(m, {i[0], i[1], t.i64(k)}); };
          return ir::add(ctx, ir::add(ctx, at(2), ir::mul(ctx, at(1), y)), ir::mul(ctx, at(0), x));
        },
        "compute")};
  });
}

}  // namespace rldb::ops::legal
