// Operators that select elements.
#include <fmt/format.h>

#include <algorithm>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"

namespace rldb::relay::relations {

namespace {

// The number of elements that `begin : end : stride` selects on an axis.
std::int64_t slice_length(std::int64_t extent, std::int64_t begin, std::int64_t end, std::int64_t stride) {
  const auto bounded = [&](std::int64_t v) {
    if (v < 0) v += extent;
    return stride > 0 ? std::clamp<std::int64_t>(v, 0, extent) : std::clamp<std::int64_t>(v, -1, extent - 1);
  };
  const std::int64_t b = bounded(begin), e = bounded(end);
  const std::int64_t span = stride > 0 ? e - b : b - e;
  const std::int64_t step = stride > 0 ? stride : -stride;
  return span <= 0 ? 0 : (span + step - 1) / step;
}

}  // namespace

Outcome StridedSlice(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto begin = o.ints(relay::field::Begin), end = o.ints(relay::field::End);
  if (!begin || !end) return Outcome::error("`begin` and `end` are lists of integers");
  const auto strides = o.ints(relay::field::Strides).value_or(std::vector<std::int64_t>{});
  const bool sizes = o.string(relay::field::SliceMode) == "size";
  Dims dims = dims_of(*o.tensor(0));
  const auto axes = o.ints(relay::field::Axes);
  if (!axes && begin->size() > dims.size())
    return Outcome::error(fmt::format("{} axes are cut of {}", begin->size(), dims.size()));
  for (std::size_t i = 0; i < begin->size(); ++i) {
    const auto at = axis_of(axes && i < axes->size() ? (*axes)[i] : std::int64_t(i), dims.size());
    if (!at) return Outcome::error("`axes` names axes of the data");
    if (!is_known(dims[*at])) continue;
    const std::int64_t extent = dims[*at].value;
    const std::int64_t stride = sizes || strides.empty() ? 1
                                : i < strides.size()     ? strides[i]
                                : strides.size() == 1    ? strides[0]
                                                         : 1;
    if (stride == 0) return Outcome::error("a stride is 0");
    std::int64_t stop = i < end->size() ? (*end)[i] : extent;
    const std::int64_t start = (*begin)[i] < 0 ? (*begin)[i] + extent : (*begin)[i];
    if (sizes) stop = stop < 0 ? extent : start + stop;
    dims[*at] = known(slice_length(extent, (*begin)[i], stop, stride));
  }
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome SliceLike(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  Dims dims = dims_of(*o.tensor(0));
  const auto& like = o.tensor(1)->shape;
  std::vector<std::int64_t> axes = o.ints(relay::field::Axes).value_or(std::vector<std::int64_t>{});
  if (axes.empty())
    for (std::size_t i = 0; i < std::min(dims.size(), like.size()); ++i) axes.push_back(std::int64_t(i));
  for (const std::int64_t axis : axes) {
    const auto at = axis_of(axis, dims.size()), other = axis_of(axis, like.size());
    if (!at || !other) return Outcome::error(out_of_range(axis, std::min(dims.size(), like.size())));
    if (is_known(dims[*at]) && is_known(like[*other]) && dims[*at].value < like[*other].value)
      return Outcome::error(
          fmt::format("axis {} has {} elements, but {} are requested", axis, dims[*at].value, like[*other].value));
    dims[*at] = like[*other];
  }
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome Take(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const TensorType &data = *o.tensor(0), &indices = *o.tensor(1);
  if (!indices.dtype.is_integral()) return Outcome::error("the indices are integers");
  const auto axis = o.integer(relay::field::Axis);
  if (!axis) return Outcome::of(o.ctx.tensor(indices.shape, data.dtype));
  const auto at = axis_of(*axis, data.shape.size());
  if (!at) return Outcome::error(out_of_range(*axis, data.shape.size()));
  const auto batch = axis_of(o.integer(relay::field::BatchDims).value_or(0), indices.shape.size() + 1);
  if (!batch || *batch > *at) return Outcome::error("`batch_dims` is not larger than the axis");
  Dims dims(data.shape.begin(), data.shape.begin() + std::ptrdiff_t(*at));
  dims.insert(dims.end(), indices.shape.begin() + std::ptrdiff_t(*batch), indices.shape.end());
  dims.insert(dims.end(), data.shape.begin() + std::ptrdiff_t(*at) + 1, data.shape.end());
  return Outcome::of(o.ctx.tensor(dims, data.dtype));
}

Outcome Gather(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const auto axis = o.integer(relay::field::Axis).value_or(0);
  if (!axis_of(axis, o.tensor(0)->shape.size())) return Outcome::error(out_of_range(axis, o.tensor(0)->shape.size()));
  if (o.tensor(0)->shape.size() != o.tensor(1)->shape.size()) return Outcome::error("data and indices have one rank");
  return Outcome::of(o.ctx.tensor(o.tensor(1)->shape, o.tensor(0)->dtype));
}

Outcome GatherNd(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const auto &data = o.tensor(0)->shape, &indices = o.tensor(1)->shape;
  if (indices.empty() || !is_known(indices[0]))
    return Outcome::error("how many coordinates an index has is a known dim");
  const std::int64_t batch = o.integer(relay::field::BatchDims).value_or(0);
  const std::int64_t used = indices[0].value + batch;
  if (batch < 0 || indices[0].value < 0 || used > std::int64_t(data.size()))
    return Outcome::error(
        fmt::format("an index has {} coordinates, and the data {} axes", indices[0].value, data.size()));
  Dims dims(indices.begin() + 1, indices.end());
  dims.insert(dims.end(), data.begin() + used, data.end());
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

Outcome Scatter(const Operands& o) {
  if (auto early = o.need_tensors(3)) return *early;
  if (o.tensor(0)->dtype != o.tensor(2)->dtype) return Outcome::error("data and updates have one dtype");
  return Outcome::of(o.types[0]);
}

Outcome OneHot(const Operands& o) {
  if (auto early = o.need_tensors(3)) return *early;
  Dims dims = dims_of(*o.tensor(0));
  const std::int64_t depth = o.integer(relay::field::Depth).value_or(1);
  const auto at = axis_of(o.integer(relay::field::Axis).value_or(-1), dims.size() + 1);
  if (!at || depth <= 0) return Outcome::error("`depth` is positive, and the new axis has its place in the result");
  dims.insert(dims.begin() + std::ptrdiff_t(*at), known(depth));
  return Outcome::of(o.ctx.tensor(dims, o.dtype(relay::field::Dtype).value_or(o.tensor(1)->dtype)));
}

Outcome SequenceMask(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  if (o.tensor(1)->shape.size() != 1) return Outcome::error("the lengths have rank 1");
  return Outcome::of(o.types[0]);
}

// Their number is known only at run time.
Outcome Unique(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (o.tensor(0)->shape.size() != 1) return Outcome::error("the data has rank 1");
  const DType int32 = DType::Int(32);
  const Type* open = o.ctx.tensor(Dims{Dim{}}, int32);
  std::vector<const Type*> fields{o.ctx.tensor(Dims{Dim{}}, o.tensor(0)->dtype), open,
                                  o.ctx.tensor(o.tensor(0)->shape, int32), o.ctx.tensor(Dims{known(1)}, int32)};
  if (o.flag(relay::field::ReturnCounts)) fields.push_back(open);
  return Outcome::of(o.ctx.tuple_type(fields));
}

Outcome Argwhere(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.ctx.tensor(Dims{Dim{}, known(std::int64_t(o.tensor(0)->shape.size()))}, DType::Int(32)));
}

}  // namespace rldb::relay::relations
