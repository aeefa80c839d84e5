// Resize and Upsample. An image whose new size is its scales' exactly is Relax's `resize2d`; every other one is
// resized an axis at a time, by weights that are constants unless a size is known at run time only.
#include "onnx/ops/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "onnx/ops/chain.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/image.h"
#include "rldb/ir/op_attr/image_attr.h"

namespace rldb::onnx::bodies {

namespace {

constexpr double kMostScale = 1e6;

struct Resize {
  const Expr* x = nullptr;
  Dims dims;
  Ints axes;                   // those that have a size or a scale
  std::vector<double> scales;  // of these, or
  Dims new_dims;               // which may be symbols;
  Ints sizes;                  // the same if they are numbers
  std::vector<double> roi;     // begin of each, then end of each
  ResizeMode mode;
  double outside = 0;
  bool larger = false, smaller = false;  // keep_aspect_ratio_policy: not_smaller, not_larger
};

// The first versions have other names of `linear`, and no `cubic`.
ir::Result<std::string> method_of(const NodeContext& c, bool old) {
  if (!old) return c.word(key::Mode, "nearest", {"nearest", "linear", "cubic"});
  RLDB_TRY(std::string mode, c.word(key::Mode, "nearest", {"nearest", "linear", "bilinear", "trilinear"}));
  return mode == "nearest" ? mode : std::string("linear");
}

ir::Result<ResizeMode> mode_of(const NodeContext& c, bool old) {
  ResizeMode mode;
  RLDB_TRY(mode.method, method_of(c, old));
  mode.coordinates = "asymmetric";
  mode.nearest = "floor";
  if (!old) {
    RLDB_TRY(mode.coordinates, c.word(key::CoordinateTransformationMode, "half_pixel",
                                      {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                       "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
    RLDB_TRY(mode.nearest, c.word(key::NearestMode, "round_prefer_floor",
                                  {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  }
  mode.cubic = c.real(key::CubicCoeffA, -0.75);
  mode.exclude_outside = c.integer(key::ExcludeOutside, 0) != 0;
  mode.antialias = c.integer(key::Antialias, 0) != 0;
  return mode;
}

ir::Result<Resize> resize_of(NodeContext& c) {
  Resize r;
  RLDB_TRY(r.x, c.in(0));
  RLDB_TRY(r.dims, c.dims_of(r.x));
  const bool old = c.opset < 11;  // and Upsample, of which there is no newer version
  RLDB_TRY(r.mode, mode_of(c, old));
  r.outside = c.real(key::ExtrapolationValue, 0);
  RLDB_TRY(const std::string policy,
           c.word(key::KeepAspectRatioPolicy, "stretch", {"stretch", "not_larger", "not_smaller"}));
  r.larger = policy == "not_smaller";
  r.smaller = policy == "not_larger";
  for (const std::int64_t a : c.ints(key::Axes).value_or(iota(0, std::int64_t(r.dims.size())))) {
    RLDB_TRY(const std::size_t axis, c.axis(a, r.dims.size()));
    r.axes.push_back(std::int64_t(axis));
  }
  const std::size_t scales = old ? 1 : 2;
  if (c.attr(key::Scales))
    r.scales = c.reals(key::Scales);
  else if (c.attr(key::HeightScale))
    r.scales = {1, 1, c.real(key::HeightScale, 1), c.real(key::WidthScale, 1)};
  else if (c.has(scales)) {
    RLDB_TRY(r.scales, c.reals_in(scales));
  }
  if (r.scales.empty()) {
    RLDB_TRY(r.new_dims, c.shape_in(3));
    if (c.decides(3)) {
      RLDB_TRY(r.sizes, c.ints_in(3));
    }
  }
  if (r.mode.coordinates == "tf_crop_and_resize") {
    RLDB_TRY(r.roi, c.reals_in(1));
    if (r.roi.size() != 2 * r.axes.size()) return refuse("the part that it resizes is not of its axes");
  }
  if ((r.scales.empty() ? r.new_dims.size() : r.scales.size()) != r.axes.size())
    return refuse("its sizes or scales are not those of its axes");
  for (const double s : r.scales)
    if (!(s > 0) || s > kMostScale) return refuse("a scale is not positive, or larger than a million");
  return r;
}

// One scale for all axes, such that the result is inside of the sizes, or around them.
std::optional<double> common_scale(const Resize& r) {
  if (r.sizes.empty() || (!r.larger && !r.smaller)) return std::nullopt;
  double scale = 0;
  for (std::size_t i = 0; i < r.axes.size(); ++i) {
    const auto n = int_of(r.dims[std::size_t(r.axes[i])]);
    if (!n || *n < 1) return std::nullopt;
    const double s = double(r.sizes[i]) / double(*n);
    scale = i == 0 ? s : r.larger ? std::max(scale, s) : std::min(scale, s);
  }
  return scale;
}

struct AxisChange {
  ResizedAxis known;
  std::optional<OpenAxis> open;  // instead
};

// An axis whose old or new size is a symbol.
ir::Result<AxisChange> open_axis(NodeContext& c, const Resize& r, std::size_t i, const Expr* dim) {
  if ((r.larger || r.smaller) && r.sizes.empty()) return c.must_be_known(3);
  if (r.larger || r.smaller)
    return refuse("its scale follows from sizes of its data (`keep_aspect_ratio_policy`) that are not known");
  if (r.mode.antialias) return refuse("it smooths (`antialias`) along an axis whose size is not known");
  OpenAxis open{dim, nullptr, {}, 0, 1};
  if (!r.scales.empty()) open.scale = r.scales[i];
  open.out = open.scale ? scaled_dim(c.ctx, dim, *open.scale) : r.new_dims[i];
  if (!open.out) return refuse("its scale of an axis whose size is not known has too many digits");
  if (!r.roi.empty()) open.begin = r.roi[i];
  if (!r.roi.empty()) open.end = r.roi[r.axes.size() + i];
  return AxisChange{{}, open};
}

ir::Result<std::vector<AxisChange>> resized_axes(NodeContext& c, const Resize& r) {
  const auto common = common_scale(r);
  std::vector<AxisChange> made;
  for (std::size_t i = 0; i < r.axes.size(); ++i) {
    const Expr* dim = r.dims[std::size_t(r.axes[i])];
    const auto n = int_of(dim);
    ResizedAxis a;
    const bool stays =
        !common && r.roi.empty() && (r.scales.empty() ? c.same_dim(r.new_dims[i], dim) : r.scales[i] == 1);
    if (!n && stays) {
      made.push_back({a, {}});  // one element, which stays what it is
      continue;
    }
    const auto asked = r.scales.empty() ? int_of(r.new_dims[i]) : std::nullopt;
    if (!n || (r.scales.empty() && !asked)) {
      RLDB_TRY(const AxisChange open, open_axis(c, r, i, dim));
      made.push_back(open);
      continue;
    }
    if (*n < 1) return refuse("an axis that it resizes has no elements");
    a.in = *n;
    a.scale = common ? *common : r.scales.empty() ? double(*asked) / double(*n) : r.scales[i];
    a.out = common             ? std::int64_t(std::floor(a.scale * double(*n) + 0.5))
            : r.scales.empty() ? *asked
                               : std::int64_t(std::floor(double(*n) * a.scale));
    if (a.out < 1 || a.out > INT32_MAX) return refuse("the size of its result is not positive, or too large");
    if (!r.roi.empty()) a.begin = r.roi[i];
    if (!r.roi.empty()) a.end = r.roi[r.axes.size() + i];
    made.push_back({a, {}});
  }
  return made;
}

// ---- by Relax's operator ----

bool is_plain(const Resize& r) {
  const std::string& how = r.mode.coordinates;
  return r.dims.size() == 4 && !r.mode.antialias && !r.mode.exclude_outside && r.mode.method != "cubic" &&
         (how == "half_pixel" || how == "align_corners" || how == "asymmetric");
}

Made by_operator(NodeContext& c, const Resize& r, const Dims& size) {
  return c.emit(op::ImageResize2d, {r.x, c.ctx.shape(size)},
                {{op_attr::Method, c.ctx.attr(r.mode.method == "nearest" ? "nearest_neighbor" : r.mode.method)},
                 {op_attr::CoordinateTransformationMode, c.ctx.attr(r.mode.coordinates)},
                 {op_attr::RoundingMethod, c.ctx.attr(r.mode.nearest)}});
}

// The new height and width; nullopt: they are not the scales' exactly, or another axis changes. That one does not is
// checked when the program runs, if no proof shows it.
std::optional<Dims> exact_size(NodeContext& c, const Resize& r) {
  Dims size{r.dims[2], r.dims[3]}, made_dims, same_dims;
  if (r.larger || r.smaller) return std::nullopt;
  for (std::size_t i = 0; i < r.axes.size(); ++i) {
    const auto axis = std::size_t(r.axes[i]);
    const auto n = int_of(r.dims[axis]);
    const Expr* made = nullptr;
    if (!r.new_dims.empty())
      made = r.new_dims[i];
    else if (n && double(*n) * r.scales[i] == std::floor(double(*n) * r.scales[i]))
      made = c.i64(std::int64_t(double(*n) * r.scales[i]));
    else if (!n && r.scales[i] == std::floor(r.scales[i]))
      made = ir::mul(c.ctx, r.dims[axis], c.i64(std::int64_t(r.scales[i])));
    // Of one element Relax's operator would divide 0 by 0.
    if (!made || (axis >= 2 && r.mode.coordinates == "align_corners" && !int_of(made))) return std::nullopt;
    if (axis >= 2) {
      size[axis - 2] = made;
    } else if (!c.same_dim(made, r.dims[axis])) {
      if (r.new_dims.empty() || (n && int_of(made))) return std::nullopt;
      made_dims.push_back(made);
      same_dims.push_back(r.dims[axis]);
    }
  }
  if (!same_dims.empty()) c.blocks.emit_match_cast(c.ctx.shape(made_dims), c.ctx.shape_type(same_dims));
  return size;
}

// ---- an axis at a time ----

// Operands: data, (out, count) places along the axis, and as many weights, of which `at` is the dtype.
Made weighted_sums(NodeContext& c, const Exprs& operands, std::size_t axis, std::int64_t count, DType t, DType at) {
  return c.kernel("onnx_resize_axis", operands, [&](Te& te) -> std::vector<te::Tensor> {
    Dims to(te.in[0]->shape.begin(), te.in[0]->shape.end());
    to[axis] = te.in[1]->shape[0];
    const ir::IterVar k[] = {te.graph.reduce_axis(te.ctx.i64(count), "k")};
    const te::Tensor sum = te.graph.reduce(
        to,
        [&](te::Indices i) {
          Dims from(i.begin(), i.end());
          from[axis] = te.graph.load(te.in[1], {static_cast<const Expr*>(i[axis]), k[0].var});
          const Expr* w = te.graph.load(te.in[2], {static_cast<const Expr*>(i[axis]), k[0].var});
          return ir::mul(te.ctx, ir::cast_to(te.ctx, at, te.graph.load(te.in[0], from)), w);
        },
        k, te.graph.sum_reducer(at), "T_resize_axis");
    if (at == t) return {sum};
    return {te.graph.compute(
        to, [&](te::Indices i) { return ir::cast_to(te.ctx, t, te.graph.load(sum, i)); }, "T_resize_cast")};
  });
}

// In which the weighted elements are added.
DType sum_type(DType t) { return t.is_float() && t.bits >= 32 ? t : DType::Float(32); }

Made weighted(NodeContext& c, const Expr* x, std::size_t axis, const Taps& taps, std::int64_t out) {
  Chain m(c);
  const Expr* index = m.reshape(m.ints(taps.index), {c.i64(out), c.i64(taps.count)});
  if (taps.count == 1) return m.done(m.take_at(x, m.reshape(index, {c.i64(out)}), axis));
  const DType t = m.dtype(x), at = sum_type(t);
  const Expr* weight = m.constant(taps.weight, {out, taps.count}, at);
  if (!m.good()) return m.done(nullptr);
  return weighted_sums(c, {x, index, weight}, axis, taps.count, t, at);
}

bool changes(const ResizedAxis& a, const Taps& taps) {
  if (a.in != a.out) return true;
  for (std::int64_t i = 0; i < a.out; ++i)
    for (std::int64_t k = 0; k < taps.count; ++k) {
      const auto at = std::size_t(i * taps.count + k);
      if (taps.weight[at] != 0 && (taps.index[at] != i || taps.weight[at] != 1)) return true;
    }
  return false;
}

// Everything whose place along the axis is outside of the image is the extrapolation's value.
Made extrapolated(NodeContext& c, const Expr* x, std::size_t axis, const Taps& taps, double value) {
  Chain m(c);
  const std::size_t rank = m.rank(x);
  std::vector<double> flags(taps.outside.begin(), taps.outside.end());
  Ints shape(rank, 1);
  shape[axis] = std::int64_t(flags.size());
  return m.done(m.where(m.constant(flags, shape, DType::Bool()), m.lit(x, value), x));
}

// The same of an axis whose size only a run knows.
Made weighted_at_run_time(NodeContext& c, const Expr* x, std::size_t axis, const OpenTaps& taps) {
  Chain m(c);
  if (taps.count == 1) return m.done(m.take_at(x, taps.index, axis));
  const DType t = m.dtype(x), at = sum_type(t);
  const Expr* weight = m.cast(taps.weight, at);
  if (!m.good()) return m.done(nullptr);
  return weighted_sums(c, {x, taps.index, weight}, axis, taps.count, t, at);
}

Made extrapolated_at_run_time(NodeContext& c, const Expr* x, std::size_t axis, const OpenTaps& taps, double value) {
  Chain m(c);
  const std::size_t rank = m.rank(x);
  const Dims out = m.dims(taps.outside);
  if (!m.good()) return m.done(nullptr);
  Dims shape(rank, c.i64(1));
  shape[axis] = out[0];
  return m.done(m.where(m.reshape(taps.outside, shape), m.lit(x, value), x));
}

}  // namespace

Made resize(NodeContext& c) {
  RLDB_TRY(const Resize r, resize_of(c));
  // The oldest versions round up where they make an axis smaller.
  const bool rounds_up = c.opset < 11 && r.mode.method == "nearest";
  const bool shrinks = std::any_of(r.scales.begin(), r.scales.end(), [](double s) { return s < 1; });
  if (is_plain(r) && !(rounds_up && shrinks))
    if (const auto size = exact_size(c, r)) return by_operator(c, r, *size);
  RLDB_TRY(const std::vector<AxisChange> axes, resized_axes(c, r));
  const Expr* x = r.x;
  std::vector<Taps> all(axes.size());
  std::vector<OpenTaps> open(axes.size());
  constexpr double kMostTaps = 1e7;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ResizedAxis& known = axes[i].known;
    const auto axis = std::size_t(r.axes[i]);
    ResizeMode mode = r.mode;
    if (rounds_up && (axes[i].open ? axes[i].open->scale.value_or(1) : known.scale) < 1) mode.nearest = "ceil";
    if (axes[i].open) {
      Chain m(c);
      open[i] = taps_at_run_time(m, *axes[i].open, mode);
      RLDB_TRY_VOID(m.done(nullptr));
      RLDB_TRY(x, weighted_at_run_time(c, x, axis, open[i]));
      continue;
    }
    if (double(known.out) * std::max(1.0, 4 / known.scale) > kMostTaps) return refuse("its result is too large");
    all[i] = taps_of(known, mode);
    if (!changes(known, all[i])) continue;
    RLDB_TRY(x, weighted(c, x, axis, all[i], known.out));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (open[i].outside) {
      RLDB_TRY(x, extrapolated_at_run_time(c, x, std::size_t(r.axes[i]), open[i], r.outside));
    } else if (all[i].any_outside) {
      RLDB_TRY(x, extrapolated(c, x, std::size_t(r.axes[i]), all[i], r.outside));
    }
  }
  return x;
}

}  // namespace rldb::onnx::bodies
