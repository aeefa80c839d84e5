// Resizing: ONNX's Resize with the coordinates that PyTorch uses.
#include "onnx/aten/aten.h"

namespace rldb::onnx::aten {

namespace {

// Scales are as they are given, or the quotient of sizes that the program recorded.
Made resized(Aten& m, const Attributes& how) {
  const Expr* x = m.self();
  const std::int64_t spatial = std::int64_t(m.rank(x)) - 2;
  if (!m.good() || spatial < 1) return m.done(m.fail("it has no axes to resize"));
  Attributes attributes = how;
  attributes.push_back({key::Axes, iota(2, 2 + spatial)});
  Values operands{Aten::of(x), Value(), Value(), Value()};
  if (m.given("output_size")) {
    operands[3] = m.known(m.ints("output_size", {}));
  } else {
    const Argument* factors = m.argument("scale_factors");
    std::vector<double> scales;
    for (const Item& i : factors ? factors->items : std::vector<Item>())
      scales.push_back(i.kind == Item::Kind::Real ? i.real : double(i.number));
    if (scales.empty()) return refuse("it has neither a size nor factors");
    operands[2] = Aten::of(m.constant(scales, {std::int64_t(scales.size())}, DType::Float(64)));
    operands.pop_back();
  }
  return m.done(m.onnx(op_name::Resize, operands, attributes));
}

Made by_weights(Aten& m, std::string mode) {
  const bool corners = m.truth("align_corners", false);
  return resized(m, {{key::Mode, std::move(mode)},
                     {key::CoordinateTransformationMode, std::string(corners ? "align_corners" : "half_pixel")}});
}

}  // namespace

Made resize_nearest(NodeContext& c) {
  Aten m(c);
  return resized(m, {{key::Mode, std::string("nearest")},
                     {key::CoordinateTransformationMode, std::string("asymmetric")},
                     {key::NearestMode, std::string("floor")}});
}

Made resize_linear(NodeContext& c) {
  Aten m(c);
  return by_weights(m, "linear");
}

// Elements that are left out are smoothed.
Made resize_smoothly(NodeContext& c) {
  Aten m(c);
  if (m.truth("align_corners", false)) return refuse("its corners are aligned, and it is to be smoothed");
  return resized(m, {{key::Mode, std::string("linear")},
                     {key::Antialias, std::int64_t(1)},
                     {key::ExcludeOutside, std::int64_t(1)},
                     {key::CoordinateTransformationMode, std::string("half_pixel")}});
}

Made resize_cubic(NodeContext& c) {
  Aten m(c);
  return by_weights(m, "cubic");
}

}  // namespace rldb::onnx::aten
