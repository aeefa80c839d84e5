// The window of a convolution or a pooling: its attributes, resolved for the shape of the data.
#pragma once

#include "onnx/ops/chain.h"

namespace rldb::onnx::bodies {

struct Window {
  Ints kernel, strides, dilations;
  Ints pads;  // before each spatial axis, then after each
  // Padding that depends on dims: the data gets it before, and `pads` are 0. Empty: there is none.
  Dims open_pads;
  std::size_t axes() const { return kernel.size(); }
  std::int64_t span(std::size_t k) const { return (kernel[k] - 1) * dilations[k] + 1; }
};

// `spatial`: the data's dims after batch and channels. `kernel`: if it is not an attribute.
ir::Result<Window> window_of(NodeContext& c, const Dims& spatial, const Ints& kernel);
// The same of an operator of which no padding may depend on a dim.
ir::Result<Window> known_window_of(NodeContext& c, const Dims& spatial, const Ints& kernel);
// The same, with an end padding such that the last window, which may be cut off, is a whole one (ceil_mode).
ir::Result<Window> with_last_window(const Window& w, const Dims& spatial);

// The data with the padding that depends on dims, of this value.
const Expr* with_open_pads(Chain& m, const Expr* x, const Window& w, double value);

// The attributes by which Relax's operators know it.
std::vector<ir::NamedAttr> strides_and_padding(NodeContext& c, const Window& w);

}  // namespace rldb::onnx::bodies
