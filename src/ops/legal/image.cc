// Legalisation: resizing, affine grids, anchors.
#include "rldb/ir/op/image.h"

#include "ops/layout.h"
#include "ops/legal/util.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/op_attr/image_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"

namespace rldb::ops::legal {

namespace {

enum class Transform { HalfPixel, AlignCorners, Asymmetric, PytorchHalfPixel, TfHalfPixelForNn, TfCropAndResize };
enum class Rounding { Round, PreferFloor, PreferCeil, Floor, Ceil };

struct Resize {
  std::string letters;
  Layout layout;
  std::string_view method;
  Transform transform;
  Rounding rounding;
  double alpha, extrapolation;
  bool exclude;
  std::vector<double> roi;  // the starts of the axes, then the ends, as parts of the image
};

template <typename E>
struct Named {
  std::string_view name;
  E value;
};
constexpr Named<Transform> kTransforms[] = {
    {"half_pixel", Transform::HalfPixel},
    {"align_corners", Transform::AlignCorners},
    {"asymmetric", Transform::Asymmetric},
    {"pytorch_half_pixel", Transform::PytorchHalfPixel},
    {"tf_half_pixel_for_nn", Transform::TfHalfPixelForNn},
    {"tf_crop_and_resize", Transform::TfCropAndResize},
};
constexpr Named<Rounding> kRoundings[] = {
    {"round", Rounding::Round},
    {"round_prefer_floor", Rounding::PreferFloor},
    {"round_prefer_ceil", Rounding::PreferCeil},
    {"floor", Rounding::Floor},
    {"ceil", Rounding::Ceil},
};

template <typename E, std::size_t n>
Result<E> value_named(const ir::Call* c, const Named<E> (&table)[n], std::string_view what, std::string_view name) {
  for (const auto& [known, value] : table)
    if (known == name) return value;
  return refuse(c, "the " + std::string(what) + " \"" + std::string(name) + "\" is not lowered");
}

constexpr double kEpsilon = 1e-5;

// Where output index `i` falls in the input, in float32.
const Expr* source_place(Topi& t, const Resize& r, std::size_t axis, const Expr* i, const Expr* in, const Expr* out) {
  ir::Context& ctx = t.ctx;
  DType f = DType::Float(32);
  const Expr* x = ir::cast_to(ctx, f, i);
  auto lit = [&](double v) { return t.lit(f, v); };
  auto ratio = [&](const Expr* a, const Expr* b) {
    return ir::div(ctx, ir::cast_to(ctx, f, a), ir::cast_to(ctx, f, b));
  };
  auto scale = [&]() { return ratio(in, out); };
  auto half_pixel = [&]() { return ir::sub(ctx, ir::mul(ctx, scale(), ir::add(ctx, x, lit(0.5))), lit(0.5)); };
  const Expr* last = ir::sub(ctx, in, ctx.i64(1));
  switch (r.transform) {
    case Transform::HalfPixel:
      return half_pixel();
    case Transform::AlignCorners:
      return is_one(out) ? lit(0) : ir::mul(ctx, ratio(last, ir::sub(ctx, out, ctx.i64(1))), x);
    case Transform::Asymmetric:
      return ir::mul(ctx, scale(), x);
    case Transform::PytorchHalfPixel:
      return is_one(out) ? lit(0) : half_pixel();
    case Transform::TfHalfPixelForNn:
      return ir::mul(ctx, scale(), ir::add(ctx, x, lit(0.5)));
    case Transform::TfCropAndResize: {
      // As TVM's kernels read it: an image from its rows on, a volume from its columns on.
      const std::size_t n = r.letters.size(), k = n == 3 ? n - 1 - axis : axis;
      const double start = r.roi[k], end = r.roi[n + k];
      const Expr* whole = ir::cast_to(ctx, f, last);
      if (is_one(out)) return ir::mul(ctx, lit(0.5 * (start + end)), whole);
      const Expr* step = ir::mul(ctx, lit(end - start), ratio(last, ir::sub(ctx, out, ctx.i64(1))));
      return ir::add(ctx, ir::mul(ctx, lit(start), whole), ir::mul(ctx, x, step));
    }
  }
  return nullptr;
}

const Expr* nearest_index(Topi& t, const Resize& r, const Expr* place) {
  ir::Context& ctx = t.ctx;
  auto lit = [&](double v) { return t.lit(place->dtype(), v); };
  const Expr* e = nullptr;
  switch (r.rounding) {
    case Rounding::Round:
      e = t.intrin(ir::intrin::Round, place);
      break;
    case Rounding::PreferFloor:
      e = t.intrin(ir::intrin::Ceil, ir::sub(ctx, place, lit(0.5)));
      break;
    case Rounding::PreferCeil:
      e = t.intrin(ir::intrin::Floor, ir::add(ctx, place, lit(0.5)));
      break;
    case Rounding::Floor:
      e = t.intrin(ir::intrin::Floor, ir::add(ctx, place, lit(kEpsilon)));
      break;
    case Rounding::Ceil:
      e = t.intrin(ir::intrin::Ceil, ir::sub(ctx, place, lit(kEpsilon)));
      break;
  }
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

std::vector<Tap> axis_taps(Topi& t, const Resize& r, const Expr* place, const Expr* in) {
  ir::Context& ctx = t.ctx;
  DType f = DType::Float(32);
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
  // Weights outside are dropped and the others scaled to add up to one.
  const Expr* total = nullptr;
  for (Tap& tap : out_taps) {
    tap.weight = ctx.select(tap.in_range, tap.weight, lit(0));
    total = total ? ir::add(ctx, total, tap.weight) : tap.weight;
  }
  for (Tap& tap : out_taps) tap.weight = ir::div(ctx, tap.weight, total);
  return out_taps;
}

}  // namespace

static Result<Resize> resize_of(const ir::Call* c) {
  Resize r;
  r.letters = op_name(c) == short_op::ImageResize3d ? "DHW" : "HW";
  RLDB_TRY(r.layout, layout_of(*find(c->callee), attr_string(spec(c), op_attr::Layout), "NC" + r.letters));
  r.method = attr_string(spec(c), op_attr::Method);
  if (r.method != "nearest_neighbor" && r.method != "linear" && r.method != "cubic")
    return refuse(c, "the method \"" + std::string(r.method) + "\" is not lowered");
  RLDB_TRY(r.transform,
           value_named(c, kTransforms, "mode", attr_string(spec(c), op_attr::CoordinateTransformationMode)));
  const std::string_view rounding = attr_string(spec(c), op_attr::RoundingMethod);
  // As in TVM, what is left open depends on the mode.
  r.rounding = r.transform == Transform::AlignCorners ? Rounding::Round : Rounding::Floor;
  if (!rounding.empty()) {
    RLDB_TRY(r.rounding, value_named(c, kRoundings, "rounding", rounding));
  }
  r.alpha = attr_float(spec(c), op_attr::CubicAlpha);
  r.exclude = attr_int(spec(c), op_attr::CubicExclude) != 0;
  r.extrapolation = attr_float(spec(c), op_attr::ExtrapolationValue);
  r.roi = attr_floats(spec(c), op_attr::Roi);
  if (r.roi.size() == 1) r.roi.assign(2 * r.letters.size(), r.roi[0]);  // one number is all bounds
  if (r.transform == Transform::TfCropAndResize && r.roi.size() != 2 * r.letters.size())
    return refuse(
        c, "the region has " + std::to_string(r.roi.size()) + " bounds, not " + std::to_string(2 * r.letters.size()));
  return r;
}

Result<const Expr*> resize(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY(const Resize r, resize_of(c));
  return l.call_te(r.letters.size() == 3 ? "resize3d" : "resize2d", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor x = te.in[0];
    ExprList shape = mapped(te, out->shape);
    return {te.graph.compute(
        shape,
        [&](Indices i) -> const Expr* {
          std::vector<std::vector<Tap>> taps;
          std::vector<std::size_t> at;
          const Expr* inside = nullptr;  // of the image, where the region may reach out of it
          for (std::size_t k = 0; k < r.letters.size(); ++k) {
            const std::size_t a = std::size_t(r.layout.index_of(r.letters[k]));
            const Expr* place = source_place(t, r, k, i[a], x->shape[a], shape[a]);
            at.push_back(a);
            taps.push_back(axis_taps(t, r, place, x->shape[a]));
            if (r.transform != Transform::TfCropAndResize) continue;
            const Expr* last = ir::cast_to(te.ctx, place->dtype(), ir::sub(te.ctx, x->shape[a], t.i64(1)));
            const Expr* in = ir::logical_and(te.ctx, t.le(t.lit(place->dtype(), 0), place), t.le(place, last));
            inside = inside ? ir::logical_and(te.ctx, inside, in) : in;
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
          const Expr* value = sum(0);
          if (inside) value = t.if_else(inside, value, t.lit(value->dtype(), r.extrapolation));
          return ir::cast_to(te.ctx, out->dtype, value);
        },
        "resize")};
  });
}

// Coordinates from -1 to 1 mapped by each sample's matrix: 2 x 3 for an image, 3 x 4 for a volume.
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
        // TVM stays this far inside the last point, which rounding would otherwise put outside the image.
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
          // The first column is of the innermost axis, the last one is added as it is.
          const std::size_t n = shape.size() - 2;
          auto at = [&](std::size_t k) { return te.graph.load(m, {i[0], i[1], t.i64(std::int64_t(k))}); };
          const Expr* sum = at(n);
          for (std::size_t k = n; k-- > 0;)
            sum = ir::add(ctx, sum, ir::mul(ctx, at(k), coordinate(i[n + 1 - k], shape[n + 1 - k])));
          return sum;
        },
        "compute")};
  });
}

}  // namespace rldb::ops::legal
