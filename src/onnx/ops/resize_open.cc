// The arithmetic of resized axes whose sizes only a run knows: the same as of known ones, as Relax operators.
#include <cmath>

#include "onnx/ops/resize.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"

namespace rldb::onnx::bodies {

namespace {

const DType kPlace = DType::Float(64);

// A dim as a number.
const Expr* number(Chain& m, const Expr* dim) {
  return m.good() ? m.cast(m.take(m.c.tensor_from({DType::Int(64), 0, {dim}})), kPlace) : nullptr;
}

// `one` where the number is 1, otherwise `other`.
const Expr* unless_one(Chain& m, const Expr* number, const Expr* one, const Expr* other) {
  return m.where(m.each(op::Equal, number, m.lit(kPlace, 1)), one, other);
}

// The places on the old axis of the new elements.
const Expr* open_places(Chain& m, const OpenAxis& a, const std::string& coordinates) {
  const Expr* x = m.cast(m.positions(a.out, 0, 1), kPlace);
  const Expr *in = number(m, a.in), *out = number(m, a.out), *zero = m.lit(kPlace, 0);
  const Expr* scale = a.scale ? m.lit(kPlace, *a.scale) : m.div(out, in);
  const Expr* wide = a.scale ? m.mul(in, scale) : out;  // the new size before it is rounded
  const Expr* last = m.add(in, -1);
  const auto middles = [&] { return m.div(m.add(x, 0.5), scale); };
  if (coordinates == "asymmetric") return m.div(x, scale);
  if (coordinates == "tf_half_pixel_for_nn") return middles();
  if (coordinates == "align_corners") return unless_one(m, wide, zero, m.div(m.mul(x, last), m.add(wide, -1)));
  if (coordinates == "pytorch_half_pixel") return unless_one(m, out, zero, m.add(middles(), -0.5));
  if (coordinates == "tf_crop_and_resize") {
    const Expr* step = m.div(m.mul(last, a.end - a.begin), m.add(out, -1));
    return unless_one(m, out, m.mul(last, 0.5 * (a.begin + a.end)), m.add(m.mul(last, a.begin), m.mul(x, step)));
  }
  const Expr* place = m.add(middles(), -0.5);
  if (coordinates != "half_pixel_symmetric") return place;
  return m.add(m.mul(m.mul(in, 0.5), m.sub(m.lit(kPlace, 1), m.div(out, wide))), place);
}

// One of the four roundings. A place between two elements is nearer to neither.
const Expr* open_nearest(Chain& m, const Expr* place, const std::string& mode) {
  if (mode == "floor") return m.unary(op::Floor, place);
  if (mode == "ceil") return m.unary(op::Ceil, place);
  return mode == "round_prefer_ceil" ? m.unary(op::Floor, m.add(place, 0.5)) : m.unary(op::Ceil, m.add(place, -0.5));
}

// Inside of the axis.
const Expr* open_index(Chain& m, const Expr* place, const OpenAxis& a) {
  const Expr* last = m.add(number(m, a.in), -1);
  return m.cast(m.min(m.max(place, m.lit(kPlace, 0)), last), DType::Int(64));
}

const Expr* open_linear(Chain& m, const Expr* distance) {
  return m.max(m.sub(m.lit(kPlace, 1), distance), m.lit(kPlace, 0));
}

const Expr* open_cubic(Chain& m, const Expr* x, double a) {
  const Expr* near = m.add(m.mul(m.mul(m.add(m.mul(x, a + 2), -(a + 3)), x), x), 1);
  const Expr* far = m.add(m.mul(m.add(m.mul(m.add(m.mul(x, a), -5 * a), x), 8 * a), x), -4 * a);
  const Expr* within_two = m.where(m.each(op::Less, x, m.lit(kPlace, 2)), far, m.lit(kPlace, 0));
  return m.where(m.each(op::LessEqual, x, m.lit(kPlace, 1)), near, within_two);
}

// Whether a place is on the axis.
const Expr* is_inside(Chain& m, const Expr* place, const OpenAxis& a) {
  const Expr* not_before = m.each(op::GreaterEqual, place, m.lit(kPlace, 0));
  return m.each(op::LogicalAnd, not_before, m.each(op::LessEqual, place, m.add(number(m, a.in), -1)));
}

}  // namespace

OpenTaps taps_at_run_time(Chain& m, const OpenAxis& a, const ResizeMode& mode) {
  OpenTaps taps;
  const Expr* place = open_places(m, a, mode.coordinates);
  if (mode.coordinates == "tf_crop_and_resize") taps.outside = m.unary(op::LogicalNot, is_inside(m, place, a));
  if (mode.method == "nearest") {
    taps.index = open_index(m, open_nearest(m, place, mode.nearest), a);
    return taps;
  }
  const bool cubic = mode.method == "cubic";
  taps.count = cubic ? 4 : 2;
  std::vector<double> steps;
  for (std::int64_t k = 0; k < taps.count; ++k) steps.push_back(double(k - taps.count / 2 + 1));
  place = m.expand(place, {1});
  const Expr* at = m.add(m.unary(op::Floor, place), m.constant(steps, {1, taps.count}, kPlace));
  const Expr* distance = m.unary(op::Abs, m.sub(at, place));
  const Expr* weight = cubic ? open_cubic(m, distance, mode.cubic) : open_linear(m, distance);
  if (mode.exclude_outside) weight = m.where(is_inside(m, at, a), weight, m.lit(kPlace, 0));
  const Expr* sum = m.reduce(op::Sum, weight, {1}, true);
  const Expr* nothing = m.each(op::Equal, sum, m.lit(kPlace, 0));
  taps.weight = m.where(nothing, m.lit(kPlace, 0), m.div(weight, m.where(nothing, m.lit(kPlace, 1), sum)));
  taps.index = open_index(m, at, a);
  return taps;
}

const Expr* scaled_dim(ir::Context& ctx, const Expr* dim, double scale) {
  // A float32 is a whole number over a power of two.
  constexpr int kMostBits = 30;
  int bits = 0;
  while (bits < kMostBits && std::ldexp(scale, bits) != std::floor(std::ldexp(scale, bits))) ++bits;
  const double factor = std::ldexp(scale, bits);
  if (factor != std::floor(factor) || factor > double(std::int64_t(1) << kMostBits)) return nullptr;
  return ir::floor_div(ctx, ir::mul(ctx, dim, ctx.i64(std::int64_t(factor))), ctx.i64(std::int64_t(1) << bits));
}

}  // namespace rldb::onnx::bodies
