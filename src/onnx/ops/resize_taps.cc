// The arithmetic of resized axes, in double precision, when the model is translated.
#include <algorithm>
#include <cmath>

#include "onnx/ops/resize.h"

namespace rldb::onnx::bodies {

namespace {

// The place on the old axis of a new element.
double place_of(const ResizedAxis& a, const std::string& coordinates, std::int64_t i) {
  const double x = double(i), in = double(a.in), out = double(a.out);
  const double wide = a.scale * in;  // the new size before it is rounded
  if (coordinates == "asymmetric") return x / a.scale;
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (coordinates == "align_corners") return wide == 1 ? 0 : x * (in - 1) / (wide - 1);
  if (coordinates == "pytorch_half_pixel" && out == 1) return 0;
  if (coordinates == "tf_crop_and_resize") {
    if (out == 1) return 0.5 * (a.begin + a.end) * (in - 1);
    return a.begin * (in - 1) + x * (a.end - a.begin) * (in - 1) / (out - 1);
  }
  const double offset = coordinates == "half_pixel_symmetric" ? in / 2 * (1 - out / wide) : 0;
  return offset + (x + 0.5) / a.scale - 0.5;
}

std::int64_t nearest_to(double x, const std::string& mode) {
  if (x == std::floor(x)) return std::int64_t(x);
  if (mode == "floor") return std::int64_t(std::floor(x));
  if (mode == "ceil") return std::int64_t(std::ceil(x));
  const double part = x - std::floor(x);
  const bool up = mode == "round_prefer_ceil" ? part >= 0.5 : part > 0.5;
  return std::int64_t(std::floor(x)) + up;
}

double linear_weight(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// Half the number of taps: more when elements are dropped and a filter is to smooth them.
std::int64_t reach_of(const ResizedAxis& a, const ResizeMode& mode) {
  const double reach = mode.method == "cubic" ? 2 : 1;
  return std::int64_t(std::ceil(mode.antialias ? reach / std::min(a.scale, 1.0) : reach));
}

void add_weights(Taps& taps, const ResizedAxis& a, const ResizeMode& mode, double place) {
  const double shrink = mode.antialias ? std::min(a.scale, 1.0) : 1;
  const auto first = std::int64_t(std::floor(place)) - taps.count / 2 + 1;
  double sum = 0;
  std::vector<double> weights;
  for (std::int64_t k = 0; k < taps.count; ++k) {
    const double distance = (double(first + k) - place) * shrink;
    double w = mode.method == "cubic" ? cubic_weight(distance, mode.cubic) : linear_weight(distance);
    if (mode.exclude_outside && (first + k < 0 || first + k >= a.in)) w = 0;
    weights.push_back(w);
    sum += w;
  }
  for (std::int64_t k = 0; k < taps.count; ++k) {
    taps.index.push_back(std::clamp<std::int64_t>(first + k, 0, a.in - 1));
    taps.weight.push_back(sum != 0 ? weights[std::size_t(k)] / sum : 0);
  }
}

}  // namespace

Taps taps_of(const ResizedAxis& axis, const ResizeMode& mode) {
  Taps taps;
  const bool nearest = mode.method == "nearest";
  if (!nearest) taps.count = 2 * reach_of(axis, mode);
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double place = place_of(axis, mode.coordinates, i);
    const bool outside = mode.coordinates == "tf_crop_and_resize" && (place < 0 || place > double(axis.in - 1));
    taps.outside.push_back(outside);
    taps.any_outside = taps.any_outside || outside;
    if (!nearest) {
      add_weights(taps, axis, mode, std::clamp(place, -1e9, 1e9));
      continue;
    }
    taps.index.push_back(std::clamp<std::int64_t>(nearest_to(place, mode.nearest), 0, axis.in - 1));
    taps.weight.push_back(1);
  }
  return taps;
}

}  // namespace rldb::onnx::bodies
