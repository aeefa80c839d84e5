// Operators that slide a window over the spatial axes of a layout, and layouts themselves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/layout.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/support/text.h"

namespace rldb::relay::relations {

namespace {

constexpr std::string_view kSpatial = "DHW";

// The position of a letter in a layout; npos when it is absent. Layouts with numbers (`NCHW4c`) have inner axes and are
// not handled here.
bool is_plain(std::string_view layout) {
  return std::all_of(layout.begin(), layout.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

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

// The dims of one layout in another.
Dims relaid(Span<Dim> dims, const std::vector<LayoutAxis>& from, const std::vector<LayoutAxis>& to) {
  Dims made;
  for (const LayoutAxis& axis : to) {
    if (axis.inner) {
      made.push_back(known(axis.factor));
      continue;
    }
    Dim d = extent(from, dims, axis.letter);
    for (const LayoutAxis& inner : to)
      if (inner.inner && inner.letter == axis.letter && is_known(d))
        d.value = (d.value + inner.factor - 1) / inner.factor;
    made.push_back(d);
  }
  return made;
}

// The spatial axes of a layout in the order D H W.
std::vector<std::size_t> spatial_axes(std::string_view layout) {
  std::vector<std::size_t> axes;
  for (const char c : kSpatial)
    if (const auto at = layout.find(c); at != std::string_view::npos) axes.push_back(at);
  return axes;
}

// One value for all axes, or one per axis.
std::vector<std::int64_t> for_axes(std::vector<std::int64_t> values, std::size_t count) {
  if (values.size() == 1) values.resize(count, values[0]);
  return values;
}

// Padding: for all sides, for each axis, or for all begins and then all ends; the total for each axis.
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
  w.strides = for_axes(o.ints(relay::field::Strides).value_or(std::vector<std::int64_t>(axes, 1)), axes);
  w.dilation = for_axes(o.ints(relay::field::Dilation).value_or(std::vector<std::int64_t>(axes, 1)), axes);
  const auto padding = total_padding(o.ints(relay::field::Padding).value_or(std::vector<std::int64_t>(1, 0)), axes);
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

namespace {

// A layout without its inner axes.
std::string outer_letters(const std::vector<LayoutAxis>& axes) {
  std::string letters;
  for (const LayoutAxis& a : axes)
    if (!a.inner) letters += a.letter;
  return letters;
}

// The parts of a convolution: its operands in layouts without inner axes.
struct ConvOperands {
  std::vector<LayoutAxis> layout, kernel_layout;
  std::string letters, kernel_letters;
  Dims data, kernel;
  std::size_t channel = 0, out_channel = 0, in_channel = 0;
  std::vector<std::size_t> axes, kernel_axes;  // spatial ones
};

std::string bad_layout(std::string_view what, std::string_view layout) {
  return fmt::format("{} is not a layout of the {}", layout, what);
}

std::optional<std::size_t> find_axis(std::string_view letters, char c) {
  const auto at = letters.find(c);
  if (at == std::string_view::npos || letters.find(c, at + 1) != std::string_view::npos) return std::nullopt;
  return at;
}

// Empty if all is well. The kernel may be unknown yet.
std::string read_layouts(const Operands& o, ConvOperands& c) {
  const std::string_view layout = o.string(relay::field::DataLayout),
                         kernel_layout = o.string(relay::field::KernelLayout);
  const auto axes = axes_of_layout(layout), kernel_axes = axes_of_layout(kernel_layout);
  if (!axes) return bad_layout("data", layout);
  if (!kernel_axes) return bad_layout("weight", kernel_layout);
  c.layout = *axes, c.kernel_layout = *kernel_axes;
  c.letters = outer_letters(c.layout), c.kernel_letters = outer_letters(c.kernel_layout);
  const auto channel = find_axis(c.letters, 'C'), out = find_axis(c.kernel_letters, 'O'),
             in = find_axis(c.kernel_letters, 'I');
  c.axes = spatial_axes(c.letters), c.kernel_axes = spatial_axes(c.kernel_letters);
  if (!channel || !find_axis(c.letters, 'N') || c.letters.size() != c.axes.size() + 2)
    return bad_layout("data", layout);
  if (!out || !in || c.kernel_letters.size() != c.axes.size() + 2 || c.kernel_axes.size() != c.axes.size())
    return bad_layout("weight", kernel_layout);
  c.channel = *channel, c.out_channel = *out, c.in_channel = *in;
  if (o.tensor(0)->shape.size() != c.layout.size())
    return fmt::format("the data has rank {}, and its layout is {}", o.tensor(0)->shape.size(), layout);
  c.data = relaid(o.tensor(0)->shape, c.layout, *axes_of_layout(c.letters));
  const TensorType* kernel = o.tensor(1);
  if (!kernel) return "";
  if (kernel->shape.size() != c.kernel_layout.size())
    return fmt::format("the weight has rank {}, and its layout is {}", kernel->shape.size(), kernel_layout);
  c.kernel = relaid(kernel->shape, c.kernel_layout, *axes_of_layout(c.kernel_letters));
  return "";
}

// The weight's type follows from the attributes if it is not specified otherwise.
bool give_weight_type(const Operands& o, const ConvOperands& c, std::int64_t channels,
                      const std::vector<std::int64_t>& sizes) {
  const bool plain = c.kernel_letters.size() == c.kernel_layout.size();
  if (!plain || o.integer(relay::field::Groups).value_or(1) != 1 || sizes.size() != c.axes.size()) return false;
  Dims dims(c.kernel_letters.size());
  dims[c.out_channel] = known(channels);
  dims[c.in_channel] = c.data[c.channel];
  for (std::size_t i = 0; i < sizes.size(); ++i) dims[c.kernel_axes[i]] = known(sizes[i]);
  return o.solver.unify(o.types[1], o.ctx.tensor(dims, o.tensor(0)->dtype)) != nullptr;
}

bool contradicts(const Dim& d, std::int64_t wanted) { return is_known(d) && d.value != wanted; }

// Empty: the weight agrees with the attributes.
std::string check_weight(const Operands& o, const ConvOperands& c, const std::vector<std::int64_t>& sizes) {
  const std::int64_t groups = o.integer(relay::field::Groups).value_or(1);
  const Dim &in = c.data[c.channel], &of_filter = c.kernel[c.in_channel], &filters = c.kernel[c.out_channel];
  const bool depthwise = groups > 1 && is_known(in) && in.value == groups && !contradicts(filters, groups);
  if (!depthwise && groups > 0 && is_known(in) && is_known(of_filter) && in.value != of_filter.value * groups)
    return fmt::format("the data has {} channels, but the weight is for {} in each of {}", in.value, of_filter.value,
                       support::counted(std::size_t(groups), "group"));
  const auto channels = o.integer(relay::field::Channels);
  const bool several = depthwise && is_known(of_filter) && is_known(filters);
  const Dim made = several ? known(filters.value * of_filter.value) : filters;
  if (channels && contradicts(made, *channels) && !(several && filters.value == *channels))
    return fmt::format("`channels` is {}, and the weight makes {}", *channels, made.value);
  for (std::size_t i = 0; i < sizes.size() && i < c.kernel_axes.size(); ++i)
    if (contradicts(c.kernel[c.kernel_axes[i]], sizes[i]))
      return fmt::format("`kernel_size` has {}, and the weight {}", sizes[i], c.kernel[c.kernel_axes[i]].value);
  return "";
}

// The result for data and weight, the operands 0 and 1 of `o`.
Outcome convolved(const Operands& o) {
  ConvOperands c;
  if (std::string wrong = read_layouts(o, c); !wrong.empty()) return Outcome::error(std::move(wrong));
  const auto channels = o.integer(relay::field::Channels);
  const auto given = o.ints(relay::field::KernelSize);
  if (c.kernel.empty()) {
    if (channels && given) give_weight_type(o, c, *channels, *given);
    if (!channels || !given) return Outcome::wait();
  }
  bool all_known = true;
  std::vector<std::int64_t> sizes = given.value_or(std::vector<std::int64_t>{});
  for (std::size_t i = 0; i < c.kernel_axes.size() && !given; ++i) {
    const Dim& d = c.kernel[c.kernel_axes[i]];
    all_known = all_known && is_known(d);
    sizes.push_back(d.value);
  }
  if (!c.kernel.empty())
    if (std::string wrong = check_weight(o, c, sizes); !wrong.empty()) return Outcome::error(std::move(wrong));
  const Window w = window_of(o, std::move(sizes), c.axes.size());
  if (!w.complete) return bad_window();
  Dims made = c.data;
  made[c.channel] = channels ? known(*channels) : c.kernel[c.out_channel];
  for (std::size_t i = 0; i < c.axes.size(); ++i) {
    const auto dim = all_known ? slid(c.data[c.axes[i]], w, i, false) : std::optional(Dim{});
    if (!dim) return Outcome::error("the window is larger than the padded data");
    made[c.axes[i]] = *dim;
  }
  const std::string_view out_layout = o.string(relay::field::OutLayout);
  const auto wanted = out_layout.empty() ? c.layout : axes_of_layout(out_layout).value_or(std::vector<LayoutAxis>{});
  const std::string letters = outer_letters(wanted);
  if (!std::is_permutation(letters.begin(), letters.end(), c.letters.begin(), c.letters.end()))
    return Outcome::error(bad_layout("result", out_layout));
  made = relaid(made, *axes_of_layout(c.letters), wanted);
  return Outcome::of(o.ctx.tensor(made, o.dtype(relay::field::OutDtype).value_or(o.tensor(0)->dtype)));
}

}  // namespace

Outcome Conv(const Operands& o) {
  if (o.types.empty() || o.types[0]->kind == TypeKind::Hole) return Outcome::wait();
  if (auto early = o.need_tensors(1)) return *early;
  return convolved(o);
}

// Operands: data, positions at which to read it, weight.
Outcome DeformableConv(const Operands& o) {
  if (auto early = o.need_tensors(3)) return *early;
  return convolved(Operands(o.ctx, o.solver, o.call, o.op, {o.types[0], o.types[2]}));
}

// Operands: the gradient of the result, the data.
Outcome Conv2dBackwardWeight(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const auto sizes = o.ints(relay::field::KernelSize);
  const std::int64_t groups = o.integer(relay::field::Groups).value_or(1);
  if (!sizes || sizes->size() != 2 || groups < 1) return Outcome::error("`kernel_size` has two integers");
  const auto layout = axes_of_layout(o.string(relay::field::DataLayout)),
             to = axes_of_layout(o.string(relay::field::KernelLayout));
  if (!layout || !to || outer_letters(*layout).size() != 4 || layout->size() != 4 || to->size() != 4)
    return Outcome::error("the layouts have four axes");
  for (const std::size_t i : {std::size_t(0), std::size_t(1)})
    if (o.tensor(i)->shape.size() != 4) return Outcome::error("gradient and data have rank 4");
  const Dims grad = relaid(o.tensor(0)->shape, *layout, *axes_of_layout("NCHW"));
  Dims data = relaid(o.tensor(1)->shape, *layout, *axes_of_layout("NCHW"));
  if (is_known(data[1])) data[1].value /= groups;
  const Dims weight{grad[1], data[1], known((*sizes)[0]), known((*sizes)[1])};
  return Outcome::of(o.ctx.tensor(relaid(weight, *axes_of_layout("OIHW"), *to),
                                  o.dtype(relay::field::OutDtype).value_or(o.tensor(0)->dtype)));
}

// Operands: the gradient of the result, and the data, which has the gradient's type.
Outcome PoolGrad(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  return Outcome::of(o.types[1]);
}

Outcome ConvTranspose(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const std::string_view layout = o.string(relay::field::DataLayout);
  if (!is_plain(layout) || !is_plain(o.string(relay::field::KernelLayout))) return {};
  const Dims in = dims_of(*o.tensor(0));
  const TensorType& kernel = *o.tensor(1);
  if (in.size() != layout.size() || kernel.shape.size() != in.size())
    return Outcome::error(fmt::format("data and weight have rank {}", layout.size()));
  const std::vector<std::size_t> axes = spatial_axes(layout);
  bool all_known = true;
  std::vector<std::int64_t> sizes;
  if (const auto given = o.ints(relay::field::KernelSize))
    sizes = *given;
  else
    sizes = sizes_of_kernel(kernel, o.string(relay::field::KernelLayout), all_known);
  const Window w = window_of(o, std::move(sizes), axes.size());
  const auto extra =
      for_axes(o.ints(relay::field::OutputPadding).value_or(std::vector<std::int64_t>(1, 0)), axes.size());
  if (!w.complete || extra.size() != axes.size()) return bad_window();
  Dims made = in;
  const std::size_t channel = layout.find('C');
  if (channel == std::string_view::npos) return {};
  // The weight is (in, out / groups, window) under either name of its layout.
  const Dim per_group = kernel.shape[1];
  const std::int64_t groups = o.integer(relay::field::Groups).value_or(1);
  made[channel] = o.integer(relay::field::Channels) ? known(*o.integer(relay::field::Channels))
                  : is_known(per_group)             ? known(per_group.value * groups)
                                                    : Dim{};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& d = in[axes[i]];
    const std::int64_t window = (w.size[i] - 1) * w.dilation[i] + 1;
    made[axes[i]] =
        all_known && is_known(d) ? known((d.value - 1) * w.strides[i] - w.padding[i] + window + extra[i]) : Dim{};
  }
  return Outcome::of(o.ctx.tensor(made, o.dtype(relay::field::OutDtype).value_or(o.tensor(0)->dtype)));
}

Outcome Pool(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const std::string_view layout = o.string(relay::field::Layout);
  if (!is_plain(layout)) return {};
  const Dims in = dims_of(*o.tensor(0));
  if (in.size() != layout.size())
    return Outcome::error(fmt::format("the data has rank {}, and its layout is {}", in.size(), layout));
  const std::vector<std::size_t> axes = spatial_axes(layout);
  const Window w = window_of(o, o.ints(relay::field::PoolSize).value_or(std::vector<std::int64_t>{}), axes.size());
  if (!w.complete) return bad_window();
  Dims made = in;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto dim = slid(in[axes[i]], w, i, o.flag(relay::field::CeilMode));
    if (!dim) return Outcome::error("the window is larger than the padded data");
    made[axes[i]] = *dim;
  }
  return Outcome::of(o.ctx.tensor(made, o.tensor(0)->dtype));
}

namespace {

// The spatial axes take the sizes in `size`, axis by axis.
template <class F>
Outcome with_spatial(const Operands& o, F&& size) {
  const std::string_view layout = o.string(relay::field::Layout);
  if (!is_plain(layout)) return {};
  Dims dims = dims_of(*o.tensor(0));
  if (dims.size() != layout.size())
    return Outcome::error(fmt::format("the data has rank {}, and its layout is {}", dims.size(), layout));
  const std::vector<std::size_t> axes = spatial_axes(layout);
  for (std::size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = size(i, dims[axes[i]]);
  return Outcome::of(o.ctx.tensor(dims, o.dtype(relay::field::OutDtype).value_or(o.tensor(0)->dtype)));
}

}  // namespace

Outcome GlobalPool(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return with_spatial(o, [](std::size_t, const Dim&) { return known(1); });
}

Outcome AdaptivePool(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto sizes = o.ints(relay::field::OutputSize).value_or(std::vector<std::int64_t>{});
  return with_spatial(o, [&](std::size_t i, const Dim& d) {
    if (sizes.empty()) return d;
    return known(sizes.size() == 1 ? sizes[0] : i < sizes.size() ? sizes[i] : 1);
  });
}

// Scales by a factor for each spatial axis.
Outcome UpSampling(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  std::vector<double> scales;
  for (const std::string_view name : {"scale_d", "scale_h", "scale_w"})
    if (const AttrValue* v = o.attr(name)) scales.push_back(v->real);
  return with_spatial(o, [&](std::size_t i, const Dim& d) {
    constexpr double kMost = 1e15;
    if (!is_known(d) || i >= scales.size() || !(scales[i] > 0)) return Dim{};
    const double size = std::floor(double(d.value) * scales[i] + 0.5);
    return size < kMost ? known(std::int64_t(size)) : Dim{};
  });
}

Outcome Resize(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto size = o.ints(relay::field::Size);
  const std::size_t axes = spatial_axes(o.string(relay::field::Layout)).size();
  if (!size || size->size() != axes)
    return Outcome::error(fmt::format("the attribute `size` has an integer for each of the {} axes", axes));
  return with_spatial(o, [&](std::size_t i, const Dim&) { return known((*size)[i]); });
}

Outcome SubPixel(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const std::string_view layout = o.string(relay::field::Layout);
  const std::int64_t block = o.integer(relay::field::BlockSize).value_or(1);
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
  const auto strides = o.ints(relay::field::Strides).value_or(std::vector<std::int64_t>{});
  Dims dims = dims_of(*o.tensor(0));
  if (strides.size() != dims.size()) return Outcome::error("there is a stride for each axis");
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (is_known(dims[i])) dims[i].value = (dims[i].value - 1) * strides[i] + 1;
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome LayoutTransform(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto from = axes_of_layout(o.string(relay::field::SrcLayout)),
             to = axes_of_layout(o.string(relay::field::DstLayout));
  if (!from || !to) return Outcome::error("the layouts are letters, inner axes with their sizes: `NCHW4c`");
  if (from->size() != o.tensor(0)->shape.size())
    return Outcome::error(fmt::format("the data has rank {}, and its layout is {}", o.tensor(0)->shape.size(),
                                      o.string(relay::field::SrcLayout)));
  return Outcome::of(o.ctx.tensor(relaid(o.tensor(0)->shape, *from, *to), o.tensor(0)->dtype));
}

// From `axis` on: the number of windows, then the windows.
Outcome SlidingWindow(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const Dims in = dims_of(*o.tensor(0));
  const std::int64_t given = o.integer(relay::field::Axis).value_or(0);
  const auto axis = axis_of(given, in.size());
  const auto window = o.ints(relay::field::WindowShape), strides = o.ints(relay::field::Strides);
  if (!axis) return Outcome::error(out_of_range(given, in.size()));
  if (!window || !strides || window->size() != in.size() - *axis || strides->size() != window->size())
    return Outcome::error("`window_shape` and `strides` say something of each axis from `axis` on");
  Dims dims(in.begin(), in.begin() + std::ptrdiff_t(*axis));
  for (std::size_t i = 0; i < window->size(); ++i) {
    const std::int64_t w = (*window)[i], s = (*strides)[i];
    if (w < 1 || s < 1) return Outcome::error("windows and strides are positive");
    Dim d = in[*axis + i];
    if (is_known(d)) {
      if (d.value < w) return Outcome::error(fmt::format("a window of {} is larger than its axis of {}", w, d.value));
      d.value = (d.value - w) / s + 1;
    }
    dims.push_back(d);
  }
  for (const std::int64_t w : *window) dims.push_back(known(w));
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

// Squares of positions become channels.
Outcome YoloReorg(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  Dims dims = dims_of(*o.tensor(0));
  const std::int64_t stride = o.integer(relay::field::Stride).value_or(1);
  if (dims.size() != 4 || stride < 1) return Outcome::error("the data has rank 4, and the stride is positive");
  if (is_known(dims[1])) dims[1].value *= stride * stride;
  for (const std::size_t i : {std::size_t(2), std::size_t(3)})
    if (is_known(dims[i])) dims[i].value /= stride;
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

}  // namespace rldb::relay::relations
