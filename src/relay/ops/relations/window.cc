// Operators that slide a window over the spatial axes of a layout, and layouts themselves.
#include <fmt/format.h>

#include <algorithm>

#include "relay/ops/relations/relations.h"
#include "rldb/relay/ir/layout.h"

namespace rldb::relay::relations {

namespace {

constexpr std::string_view kSpatial = "DHW";

// Where a layout's letter is; npos when it has none. Layouts with numbers (`NCHW4c`) have inner axes and are not looked
// into.
bool is_plain(std::string_view layout) {
  return std::all_of(layout.begin(), layout.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

// The spatial axes of a layout in the order D H W.
std::vector<std::size_t> spatial_axes(std::string_view layout) {
  std::vector<std::size_t> axes;
  for (const char c : kSpatial)
    if (const auto at = layout.find(c); at != std::string_view::npos) axes.push_back(at);
  return axes;
}

// One value for all axes, or one each.
std::vector<std::int64_t> for_axes(std::vector<std::int64_t> values, std::size_t count) {
  if (values.size() == 1) values.resize(count, values[0]);
  return values;
}

// Padding: of all sides, of each axis, or of all begins and then all ends; what both sides add to each axis.
std::optional<std::vector<std::int64_t>> total_padding(const std::vector<std::int64_t>& p, std::size_t axes) {
  std::vector<std::int64_t> total(axes);
  for (std::size_t i = 0; i < axes; ++i) {
    if (p.size() == 1)
      total[i] = 2 * p[0];
    else if (p.size() == axes)
      total[i] = 2 * p[i];
    else if (p.size() == 2 * axes)
      total[i] = p[i] + p[axes + i];
    else
      return std::nullopt;
  }
  return total;
}

struct Window {
  std::vector<std::int64_t> size, strides, dilation, padding;
  bool complete = false;
};

Window window_of(const Operands& o, std::vector<std::int64_t> size, std::size_t axes) {
  Window w;
  w.size = for_axes(std::move(size), axes);
  w.strides = for_axes(o.ints("strides").value_or(std::vector<std::int64_t>(axes, 1)), axes);
  w.dilation = for_axes(o.ints("dilation").value_or(std::vector<std::int64_t>(axes, 1)), axes);
  const auto padding = total_padding(o.ints("padding").value_or(std::vector<std::int64_t>(1, 0)), axes);
  w.complete = w.size.size() == axes && w.strides.size() == axes && w.dilation.size() == axes && padding;
  if (padding) w.padding = *padding;
  for (const std::int64_t s : w.strides) w.complete = w.complete && s > 0;
  return w;
}

std::optional<Dim> slid(const Dim& in, const Window& w, std::size_t i, bool ceil) {
  if (!is_known(in)) return Dim{};
  const std::int64_t span = in.value + w.padding[i] - ((w.size[i] - 1) * w.dilation[i] + 1);
  if (span < 0) return std::nullopt;
  return known((ceil ? span + w.strides[i] - 1 : span) / w.strides[i] + 1);
}

Outcome bad_window() { return Outcome::error("strides, dilation, padding and window do not fit the spatial axes"); }

std::vector<std::int64_t> sizes_of_kernel(const TensorType& kernel, std::string_view layout, bool& all_known) {
  std::vector<std::int64_t> sizes;
  for (const std::size_t axis : spatial_axes(layout)) {
    all_known = all_known && is_known(kernel.shape[axis]);
    sizes.push_back(kernel.shape[axis].value);
  }
  return sizes;
}

}  // namespace

Outcome Conv(const Operands& o) {
  if (o.types.empty() || o.types[0]->kind == TypeKind::Hole) return Outcome::wait();
  if (auto early = o.need_tensors(1)) return *early;
  const std::string_view layout = o.string("data_layout"), kernel_layout = o.string("kernel_layout");
  if (!is_plain(layout) || !is_plain(kernel_layout)) return {};
  const Dims in = dims_of(*o.tensor(0));
  if (in.size() != layout.size())
    return Outcome::error(fmt::format("the data has rank {}, and its layout is {}", in.size(), layout));
  const std::vector<std::size_t> axes = spatial_axes(layout);
  const auto* kernel = o.tensor(1);
  if (kernel && kernel->shape.size() != kernel_layout.size())
    return Outcome::error(
        fmt::format("the weight has rank {}, and its layout is {}", kernel->shape.size(), kernel_layout));
  bool all_known = true;
  std::vector<std::int64_t> sizes;
  if (const auto given = o.ints("kernel_size"))
    sizes = *given;
  else if (kernel)
    sizes = sizes_of_kernel(*kernel, kernel_layout, all_known);
  else
    return Outcome::wait();
  const Window w = window_of(o, std::move(sizes), axes.size());
  if (!w.complete) return bad_window();
  const std::size_t channel = layout.find('C'), out_channel = kernel_layout.find('O'),
                    in_channel = kernel_layout.find('I');
  if (channel == std::string_view::npos || out_channel == std::string_view::npos ||
      in_channel == std::string_view::npos)
    return {};
  const std::int64_t groups = o.integer("groups").value_or(1);
  if (kernel && groups > 0 && is_known(in[channel]) && is_known(kernel->shape[in_channel]) &&
      in[channel].value != kernel->shape[in_channel].value * groups && groups != in[channel].value)
    return Outcome::error(fmt::format("the data has {} channels, and the weight is made for {} x {} group(s)",
                                      in[channel].value, kernel->shape[in_channel].value, groups));
  Dims made = in;
  if (const auto channels = o.integer("channels"))
    made[channel] = known(*channels);
  else if (kernel)
    made[channel] = kernel->shape[out_channel];
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto dim = all_known ? slid(in[axes[i]], w, i, false) : std::optional(Dim{});
    if (!dim) return Outcome::error("the window is larger than the padded data");
    made[axes[i]] = *dim;
  }
  return Outcome::of(o.ctx.tensor(made, o.dtype("out_dtype").value_or(o.tensor(0)->dtype)));
}

Outcome ConvTranspose(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const std::string_view layout = o.string("data_layout");
  if (!is_plain(layout) || !is_plain(o.string("kernel_layout"))) return {};
  const Dims in = dims_of(*o.tensor(0));
  const TensorType& kernel = *o.tensor(1);
  if (in.size() != layout.size() || kernel.shape.size() != in.size())
    return Outcome::error(fmt::format("data and weight have rank {}", layout.size()));
  const std::vector<std::size_t> axes = spatial_axes(layout);
  bool all_known = true;
  std::vector<std::int64_t> sizes;
  if (const auto given = o.ints("kernel_size"))
    sizes = *given;
  else
    sizes = sizes_of_kernel(kernel, o.string("kernel_layout"), all_known);
  const Window w = window_of(o, std::move(sizes), axes.size());
  const auto extra = for_axes(o.ints("output_padding").value_or(std::vector<std::int64_t>(1, 0)), axes.size());
  if (!w.complete || extra.size() != axes.size()) return bad_window();
  Dims made = in;
  const std::size_t channel = layout.find('C');
  if (channel == std::string_view::npos) return {};
  // The weight is (in, out / groups, window) under either name of its layout.
  const Dim per_group = kernel.shape[1];
  const std::int64_t groups = o.integer("groups").value_or(1);
  made[channel] = o.integer("channels") ? known(*o.integer("channels"))
                  : is_known(per_group) ? known(per_group.value * groups)
                                        : Dim{};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& d = in[axes[i]];
    const std::int64_t window = (w.size[i] - 1) * w.dilation[i] + 1;
    made[axes[i]] =
        all_known && is_known(d) ? known((d.value - 1) * w.strides[i] - w.padding[i] + window + extra[i]) : Dim{};
  }
  return Outcome::of(o.ctx.tensor(made, o.dtype("out_dtype").value_or(o.tensor(0)->dtype)));
}

Outcome Pool(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const std::string_view layout = o.string("layout");
  if (!is_plain(layout)) return {};
  const Dims in = dims_of(*o.tensor(0));
  if (in.size() != layout.size())
    return Outcome::error(fmt::format("the data has rank {}, and its layout is {}", in.size(), layout));
  const std::vector<std::size_t> axes = spatial_axes(layout);
  const Window w = window_of(o, o.ints("pool_size").value_or(std::vector<std::int64_t>{}), axes.size());
  if (!w.complete) return bad_window();
  Dims made = in;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto dim = slid(in[axes[i]], w, i, o.flag("ceil_mode"));
    if (!dim) return Outcome::error("the window is larger than the padded data");
    made[axes[i]] = *dim;
  }
  return Outcome::of(o.ctx.tensor(made, o.tensor(0)->dtype));
}

namespace {

// The spatial axes become what `size` says, axis by axis.
template <class F>
Outcome with_spatial(const Operands& o, F&& size) {
  const std::string_view layout = o.string("layout");
  if (!is_plain(layout)) return {};
  Dims dims = dims_of(*o.tensor(0));
  if (dims.size() != layout.size())
    return Outcome::error(fmt::format("the data has rank {}, and its layout is {}", dims.size(), layout));
  const std::vector<std::size_t> axes = spatial_axes(layout);
  for (std::size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = size(i, dims[axes[i]]);
  return Outcome::of(o.ctx.tensor(dims, o.dtype("out_dtype").value_or(o.tensor(0)->dtype)));
}

}  // namespace

Outcome GlobalPool(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return with_spatial(o, [](std::size_t, const Dim&) { return known(1); });
}

Outcome AdaptivePool(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto sizes = o.ints("output_size").value_or(std::vector<std::int64_t>{});
  return with_spatial(o, [&](std::size_t i, const Dim& d) {
    if (sizes.empty()) return d;
    return known(sizes.size() == 1 ? sizes[0] : i < sizes.size() ? sizes[i] : 1);
  });
}

Outcome UpSampling(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto scale = [&](std::string_view name) {
    const AttrValue* v = o.attr(name);
    return v ? v->real : 1.0;
  };
  const double scales[] = {scale("scale_h"), scale("scale_w")};
  return with_spatial(o, [&](std::size_t i, const Dim& d) {
    return is_known(d) && i < 2 ? known(std::int64_t(double(d.value) * scales[i] + 0.5)) : Dim{};
  });
}

Outcome Resize2D(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto size = o.ints("size");
  if (!size || size->size() != 2) return Outcome::error("the attribute `size` has two integers");
  return with_spatial(o, [&](std::size_t i, const Dim&) { return known((*size)[i]); });
}

Outcome SubPixel(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const std::string_view layout = o.string("layout");
  const std::int64_t block = o.integer("block_size").value_or(1);
  if (!is_plain(layout)) return {};
  Dims dims = dims_of(*o.tensor(0));
  if (dims.size() != layout.size() || layout.find('C') == std::string_view::npos || block < 1)
    return Outcome::error("the block size is positive, and the data has the rank of its layout");
  const bool to_space = o.op.id == op::NnDepthToSpace;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!is_known(dims[i]) || layout[i] == 'N') continue;
    const std::int64_t factor = layout[i] == 'C' ? block * block : block;
    const bool grows = (layout[i] == 'C') != to_space;
    if (!grows && dims[i].value % factor != 0)
      return Outcome::error(fmt::format("axis {} has {} elements, which {} does not divide", i, dims[i].value, factor));
    dims[i].value = grows ? dims[i].value * factor : dims[i].value / factor;
  }
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome Dilate(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto strides = o.ints("strides").value_or(std::vector<std::int64_t>{});
  Dims dims = dims_of(*o.tensor(0));
  if (strides.size() != dims.size()) return Outcome::error("there is a stride for each axis");
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (is_known(dims[i])) dims[i].value = (dims[i].value - 1) * strides[i] + 1;
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

namespace {

// Elements along a letter, inner axes included.
Dim extent(const std::vector<LayoutAxis>& axes, Span<Dim> dims, char letter) {
  Dim total = known(1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].letter != letter) continue;
    if (!is_known(dims[i]) || !is_known(total) || __builtin_mul_overflow(total.value, dims[i].value, &total.value))
      total = Dim{};
  }
  return total;
}

}  // namespace

Outcome LayoutTransform(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto from = axes_of_layout(o.string("src_layout")), to = axes_of_layout(o.string("dst_layout"));
  if (!from || !to) return Outcome::error("the layouts are letters, inner axes with their sizes: `NCHW4c`");
  if (from->size() != o.tensor(0)->shape.size())
    return Outcome::error(
        fmt::format("the data has rank {}, and its layout is {}", o.tensor(0)->shape.size(), o.string("src_layout")));
  Dims dims;
  for (const LayoutAxis& axis : *to) {
    if (axis.inner) {
      dims.push_back(known(axis.factor));
      continue;
    }
    Dim d = extent(*from, o.tensor(0)->shape, axis.letter);
    for (const LayoutAxis& inner : *to)
      if (inner.inner && inner.letter == axis.letter && is_known(d))
        d.value = (d.value + inner.factor - 1) / inner.factor;
    dims.push_back(d);
  }
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

}  // namespace rldb::relay::relations
