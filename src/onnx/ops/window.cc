// Windows of convolutions and poolings.
#include "onnx/ops/window.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/ir/op_attr/window_attr.h"

namespace rldb::onnx::bodies {

namespace {

enum class AutoPad : std::uint8_t { Given, Valid, Upper, Lower };

ir::Result<AutoPad> auto_pad(const NodeContext& c) {
  if (c.text(key::AutoPad, "").empty()) return AutoPad::Given;
  RLDB_TRY(const std::string how, c.word(key::AutoPad, "NOTSET", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}));
  if (how == "VALID") return AutoPad::Valid;
  return how == "SAME_UPPER" ? AutoPad::Upper : how == "SAME_LOWER" ? AutoPad::Lower : AutoPad::Given;
}

// As much padding as makes the result the data's size over the stride, rounded up.
void add_same_pads(ir::Context& ctx, Window& w, const Dims& spatial, bool upper) {
  const std::size_t n = w.axes();
  Dims pads(2 * n);
  bool open = false;
  const Expr *zero = ctx.i64(0), *one = ctx.i64(1), *two = ctx.i64(2);
  for (std::size_t k = 0; k < n; ++k) {
    const Expr *stride = ctx.i64(w.strides[k]), *extent = spatial[k];
    const Expr* windows = ir::floor_div(ctx, ir::add(ctx, extent, ctx.i64(w.strides[k] - 1)), stride);
    const Expr* reach = ir::add(ctx, ir::mul(ctx, ir::sub(ctx, windows, one), stride), ctx.i64(w.span(k)));
    const Expr* total = w.strides[k] == 1 ? ctx.i64(w.span(k) - 1) : ir::max(ctx, ir::sub(ctx, reach, extent), zero);
    const Expr *half = ir::floor_div(ctx, total, two), *rest = ir::sub(ctx, total, half);
    pads[k] = upper ? half : rest;
    pads[n + k] = upper ? rest : half;
    open = open || !int_of(total);
  }
  w.pads.assign(2 * n, 0);
  if (open) w.open_pads = pads;
  for (std::size_t k = 0; !open && k < 2 * n; ++k) w.pads[k] = *int_of(pads[k]);
}

bool is_positive(const Ints& all) {
  for (const std::int64_t v : all)
    if (v < 1 || v > INT32_MAX) return false;
  return true;
}

}  // namespace

ir::Result<Window> window_of(NodeContext& c, const Dims& spatial, const Ints& kernel) {
  const std::size_t n = spatial.size();
  Window w{c.ints(key::KernelShape).value_or(kernel),
           c.ints(key::Strides, n, 1),
           c.ints(key::Dilations, n, 1),
           c.ints(key::Pads, 2 * n, 0),
           {}};
  if (w.kernel.size() != n || w.strides.size() != n || w.dilations.size() != n || w.pads.size() != 2 * n)
    return refuse(fmt::format("its window is not of {} axes", n));
  if (!kernel.empty() && w.kernel != kernel)
    return refuse(fmt::format("its attribute `{}` is ({}), and its weights are of ({})", key::KernelShape,
                              fmt::join(w.kernel, ", "), fmt::join(kernel, ", ")));
  if (!is_positive(w.kernel) || !is_positive(w.strides) || !is_positive(w.dilations))
    return refuse("a size of its window, a stride or a dilation is not positive");
  RLDB_TRY(const AutoPad how, auto_pad(c));
  if (how == AutoPad::Valid) w.pads.assign(2 * n, 0);
  if (how == AutoPad::Upper || how == AutoPad::Lower) add_same_pads(c.ctx, w, spatial, how == AutoPad::Upper);
  for (const std::int64_t p : w.pads)
    if (p < 0 || p > INT32_MAX) return refuse("a padding is negative or too large");
  return w;
}

ir::Result<Window> known_window_of(NodeContext& c, const Dims& spatial, const Ints& kernel) {
  RLDB_TRY(Window w, window_of(c, spatial, kernel));
  if (!w.open_pads.empty()) return refuse("its padding depends on a dim that is not known");
  return w;
}

ir::Result<Window> with_last_window(const Window& w, const Dims& spatial) {
  Window made = w;
  const std::size_t n = w.axes();
  for (std::size_t k = 0; k < n; ++k) {
    const auto extent = int_of(spatial[k]);
    if (!extent) return refuse("its windows (`ceil_mode`) depend on a dim that is not known");
    const std::int64_t free = *extent + w.pads[k] + w.pads[n + k] - w.span(k);
    if (free < 0) return refuse("its window is larger than the padded data");
    std::int64_t count = (free + w.strides[k] - 1) / w.strides[k] + 1;
    // A window that begins behind the data has nothing of it.
    if ((count - 1) * w.strides[k] >= *extent + w.pads[k]) --count;
    // Data behind the last window is left out, as it is without padding.
    made.pads[n + k] = std::max<std::int64_t>(0, (count - 1) * w.strides[k] + w.span(k) - *extent - w.pads[k]);
  }
  return made;
}

std::vector<ir::NamedAttr> strides_and_padding(NodeContext& c, const Window& w) {
  return {{op_attr::Strides, c.ints_attr(w.strides)},
          {op_attr::Padding, c.ints_attr(w.pads)},
          {op_attr::Dilation, c.ints_attr(w.dilations)}};
}

}  // namespace rldb::onnx::bodies
