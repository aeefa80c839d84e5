// One axis of an image at another size: which elements each new one is made of, and how much of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx/ops/chain.h"

namespace rldb::onnx::bodies {

struct ResizeMode {
  std::string method;       // nearest, linear, cubic
  std::string coordinates;  // coordinate_transformation_mode
  std::string nearest;      // nearest_mode
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
};

struct ResizedAxis {
  std::int64_t in = 1, out = 1;
  double scale = 1;
  double begin = 0, end = 1;  // the part of the axis that is resized (tf_crop_and_resize)
};

struct Taps {
  std::int64_t count = 1;             // of each new element
  Ints index;                         // count for each new element, inside the axis
  std::vector<double> weight;         // the same
  std::vector<std::uint8_t> outside;  // of each new element: its place is not on the axis
  bool any_outside = false;
};

Taps taps_of(const ResizedAxis& axis, const ResizeMode& mode);

// ---- axes whose sizes only a run knows ----

struct OpenAxis {
  const Expr *in = nullptr, *out = nullptr;
  std::optional<double> scale;  // otherwise it is the quotient of the sizes
  double begin = 0, end = 1;
};

struct OpenTaps {
  std::int64_t count = 1;
  const Expr* index = nullptr;    // of rank 1 if `count` is 1, otherwise (out, count)
  const Expr* weight = nullptr;   // the same; null if `count` is 1
  const Expr* outside = nullptr;  // null: all places are on the axis
};

// Not for `antialias`, whose number of taps depends on the scale.
OpenTaps taps_at_run_time(Chain& m, const OpenAxis& axis, const ResizeMode& mode);

// The dim times the scale, rounded down. Null: the scale has too many digits to say it by whole numbers.
const Expr* scaled_dim(ir::Context& ctx, const Expr* dim, double scale);

}  // namespace rldb::onnx::bodies
