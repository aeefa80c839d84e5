// Image resampling, and the operators of object detection.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"

namespace rldb::relay::relations {

namespace {

constexpr DType kInt32 = DType::Int(32), kInt64 = DType::Int(64);

std::optional<Outcome> exact_rank(const Operands& o, std::size_t i, std::size_t rank) {
  if (o.tensor(i)->shape.size() == rank) return std::nullopt;
  return Outcome::error(
      fmt::format("operand {} has rank {}, but {} is expected", i + 1, o.tensor(i)->shape.size(), rank));
}

Outcome tuple(const Operands& o, std::initializer_list<const Type*> fields) {
  return Outcome::of(o.ctx.tuple_type(std::vector<const Type*>(fields)));
}

// An image's dims in the order of a layout of the letters NCHW; nullopt for any other layout.
std::optional<Dims> in_layout(std::string_view layout, const Dim& n, const Dim& c, const Dim& h, const Dim& w) {
  if (layout.size() != 4) return std::nullopt;
  Dims dims;
  for (const char letter : layout) {
    const std::size_t at = std::string_view("NCHW").find(letter);
    if (at == std::string_view::npos) return std::nullopt;
    dims.push_back(std::array{n, c, h, w}[at]);
  }
  return dims;
}

Outcome no_image_layout(std::string_view layout) {
  return Outcome::error(fmt::format("{} is not a layout of an image", layout));
}

// The dim that a letter of the layout names.
Dim dim_of(const Operands& o, std::string_view layout, char letter) {
  const auto at = layout.find(letter);
  return at < o.tensor(0)->shape.size() ? o.tensor(0)->shape[at] : Dim{};
}

}  // namespace

// The grid holds coordinates along its second axis.
Outcome GridSample(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const std::string_view layout = o.string(relay::field::Layout);
  const auto &data = o.tensor(0)->shape, &grid = o.tensor(1)->shape;
  const bool volume = layout == "NCDHW";
  if (!volume && layout != "NCHW") return no_image_layout(layout);
  const std::size_t rank = volume ? 5 : 4;
  for (const std::size_t i : {std::size_t(0), std::size_t(1)})
    if (auto wrong = exact_rank(o, i, rank)) return *wrong;
  if (is_known(grid[1]) && grid[1].value != std::int64_t(rank) - 2)
    return Outcome::error(fmt::format("a place of the grid has {} coordinates", rank - 2));
  Dims dims{data[0], data[1]};
  dims.insert(dims.end(), grid.begin() + 2, grid.end());
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome AffineGrid(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = exact_rank(o, 0, 3)) return *wrong;
  const auto size = o.ints(relay::field::TargetShape);
  if (!size || size->size() != 2) return Outcome::error("`target_shape` has two integers");
  const Dims dims{o.tensor(0)->shape[0], known(2), known((*size)[0]), known((*size)[1])};
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

// Operands: images, boxes, the image of each box.
Outcome CropAndResize(const Operands& o) {
  if (auto early = o.need_tensors(3)) return *early;
  const std::string_view layout = o.string(relay::field::Layout);
  const auto size = o.ints(relay::field::CropSize);
  if (!size || size->size() != 2) return Outcome::error("`crop_size` has two integers");
  for (std::size_t i = 0; i < 3; ++i)
    if (auto wrong = exact_rank(o, i, std::array<std::size_t, 3>{4, 2, 1}[i])) return *wrong;
  const auto dims =
      in_layout(layout, o.tensor(1)->shape[0], dim_of(o, layout, 'C'), known((*size)[0]), known((*size)[1]));
  if (!dims) return no_image_layout(layout);
  return Outcome::of(o.ctx.tensor(*dims, o.dtype(relay::field::OutDtype).value_or(o.tensor(0)->dtype)));
}

// A window of weights (I, H, W) that slides over each channel.
Outcome Dilation2d(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const std::string_view layout = o.string(relay::field::DataLayout),
                         kernel_layout = o.string(relay::field::KernelLayout);
  if (auto wrong = exact_rank(o, 0, 4)) return *wrong;
  if (auto wrong = exact_rank(o, 1, 3)) return *wrong;
  const auto strides = o.ints(relay::field::Strides), padding = o.ints(relay::field::Padding),
             dilations = o.ints(relay::field::Dilations);
  const std::size_t high = kernel_layout.find('H'), wide = kernel_layout.find('W');
  const bool sizes = strides && strides->size() == 2 && dilations && dilations->size() == 2 && padding &&
                     (padding->size() == 1 || padding->size() == 2 || padding->size() == 4);
  if (!sizes || (*strides)[0] < 1 || (*strides)[1] < 1 || high > 2 || wide > 2)
    return Outcome::error("strides, dilations, padding and window do not fit the spatial axes");
  const auto slid = [&](const Dim& d, const Dim& window, std::size_t i) {
    if (!is_known(d) || !is_known(window)) return Dim{};
    const std::int64_t before = (*padding)[padding->size() == 1 ? 0 : i];
    const std::int64_t after = padding->size() == 4 ? (*padding)[2 + i] : before;
    const std::int64_t span = d.value + before + after - ((window.value - 1) * (*dilations)[i] + 1);
    return known(span < 0 ? 0 : span / (*strides)[i] + 1);
  };
  const auto& kernel = o.tensor(1)->shape;
  const auto dims =
      in_layout(layout, dim_of(o, layout, 'N'), dim_of(o, layout, 'C'), slid(dim_of(o, layout, 'H'), kernel[high], 0),
                slid(dim_of(o, layout, 'W'), kernel[wide], 1));
  if (!dims) return no_image_layout(layout);
  return Outcome::of(o.ctx.tensor(*dims, o.dtype(relay::field::OutDtype).value_or(o.tensor(0)->dtype)));
}

// One channel per displacement.
Outcome Correlation(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  if (auto wrong = exact_rank(o, 0, 4)) return *wrong;
  if (auto wrong = exact_rank(o, 1, 4)) return *wrong;
  const std::int64_t kernel = o.integer(relay::field::KernelSize).value_or(1),
                     most = o.integer(relay::field::MaxDisplacement).value_or(1);
  const std::int64_t stride = o.integer(relay::field::Stride1).value_or(1),
                     step = o.integer(relay::field::Stride2).value_or(1);
  const auto padding = o.ints(relay::field::Padding).value_or(std::vector<std::int64_t>{});
  const bool pads = padding.size() == 1 || padding.size() == 2 || padding.size() == 4;
  if (!pads || kernel < 1 || most < 0 || stride < 1 || step < 1 || o.string(relay::field::Layout) != "NCHW")
    return Outcome::error("its sizes, strides and padding are those of images in NCHW");
  const std::int64_t border = most + (kernel - 1) / 2, places = 2 * (most / step) + 1;
  const auto moved = [&](const Dim& d, std::size_t i) {
    if (!is_known(d)) return Dim{};
    const std::int64_t before = padding[padding.size() == 1 ? 0 : i];
    const std::int64_t after = padding.size() == 4 ? padding[2 + i] : before;
    return known(std::max<std::int64_t>(0, (d.value + before + after - 2 * border + stride - 1) / stride));
  };
  const auto& data = o.tensor(0)->shape;
  return Outcome::of(
      o.ctx.tensor(Dims{data[0], known(places * places), moved(data[2], 0), moved(data[3], 1)}, o.tensor(0)->dtype));
}

Outcome RoiAlign(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const std::string_view layout = o.string(relay::field::Layout);
  const auto size = o.ints(relay::field::PooledSize);
  if (auto wrong = exact_rank(o, 0, 4)) return *wrong;
  if (auto wrong = exact_rank(o, 1, 2)) return *wrong;
  if (!size || size->size() != 2) return Outcome::error("`pooled_size` has two integers");
  const auto dims =
      in_layout(layout, o.tensor(1)->shape[0], dim_of(o, layout, 'C'), known((*size)[0]), known((*size)[1]));
  return dims ? Outcome::of(o.ctx.tensor(*dims, o.tensor(0)->dtype)) : no_image_layout(layout);
}

// ---- detection ----

Outcome GetValidCounts(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = exact_rank(o, 0, 3)) return *wrong;
  const auto& data = o.tensor(0)->shape;
  return tuple(o, {o.ctx.tensor(Dims{data[0]}, kInt32), o.types[0], o.ctx.tensor(Dims{data[0], data[1]}, kInt32)});
}

// Operands: boxes, the number of valid ones, their indices, the number to keep, the overlap threshold.
Outcome NonMaxSuppression(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  if (auto wrong = exact_rank(o, 0, 3)) return *wrong;
  if (auto wrong = exact_rank(o, 1, 1)) return *wrong;
  if (!o.flag(relay::field::ReturnIndices)) return Outcome::of(o.types[0]);
  const auto& data = o.tensor(0)->shape;
  return tuple(o, {o.ctx.tensor(Dims{data[0], data[1]}, kInt32), o.ctx.tensor(Dims{data[0], known(1)}, kInt32)});
}

// Operands: boxes, scores of the classes, and three numbers.
Outcome AllClassNms(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  if (auto wrong = exact_rank(o, 0, 3)) return *wrong;
  if (auto wrong = exact_rank(o, 1, 3)) return *wrong;
  const auto &boxes = o.tensor(0)->shape, &scores = o.tensor(1)->shape;
  const Dim each = times(scores[1], boxes[1]);
  if (o.string(relay::field::OutputFormat) == "onnx")
    return tuple(o,
                 {o.ctx.tensor(Dims{times(boxes[0], each), known(3)}, kInt64), o.ctx.tensor(Dims{known(1)}, kInt64)});
  if (o.string(relay::field::OutputFormat) != "tensorflow")
    return Outcome::error("`output_format` is \"onnx\" or \"tensorflow\"");
  return tuple(o, {o.ctx.tensor(Dims{boxes[0], each, known(2)}, kInt64),
                   o.ctx.tensor(Dims{boxes[0], each}, DType::Float(32)), o.ctx.tensor(Dims{boxes[0]}, kInt64)});
}

// Boxes around each position of an image: one of each size, and one of each further ratio.
Outcome MultiboxPrior(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = exact_rank(o, 0, 4)) return *wrong;
  const auto count = [&](std::string_view name) {
    const AttrValue* v = o.attr(name);
    return v && v->kind == AttrKind::List ? std::int64_t(v->items.size()) : std::int64_t(1);
  };
  const Dim places = times(o.tensor(0)->shape[2], o.tensor(0)->shape[3]);
  const std::int64_t boxes = count("sizes") + count("ratios") - 1;
  if (boxes < 1) return Outcome::error("there is a size and a ratio");
  return Outcome::of(o.ctx.tensor(Dims{known(1), times(places, known(boxes)), known(4)}, o.tensor(0)->dtype));
}

}  // namespace rldb::relay::relations
