// Reductions, scans, sorting.
#include <fmt/format.h>

#include <algorithm>

#include "relay/ops/relations/relations.h"
#include "rldb/relay/ir/field.h"

namespace rldb::relay::relations {

namespace {

// The axes that are reduced: all without `axis`, the others with `exclude`.
std::optional<std::vector<bool>> reduced_axes(const Operands& o, std::string& wrong) {
  const std::size_t rank = o.tensor(0)->shape.size();
  const auto given = o.ints(relay::field::Axis);
  std::vector<bool> reduced(rank, !given);
  for (const std::int64_t axis : given.value_or(std::vector<std::int64_t>{})) {
    const auto at = axis_of(axis, rank);
    if (!at) {
      wrong = out_of_range(axis, rank);
      return std::nullopt;
    }
    reduced[*at] = true;
  }
  if (o.flag(relay::field::Exclude)) {
    if (!given) {
      wrong = "`exclude` needs an axis";
      return std::nullopt;
    }
    reduced.flip();
  }
  return reduced;
}

Outcome reduce_to(const Operands& o, DType dtype) {
  std::string wrong;
  const auto reduced = reduced_axes(o, wrong);
  if (!reduced) return Outcome::error(wrong);
  Dims dims;
  for (std::size_t i = 0; i < reduced->size(); ++i) {
    if (!(*reduced)[i])
      dims.push_back(o.tensor(0)->shape[i]);
    else if (o.flag(relay::field::Keepdims))
      dims.push_back(known(1));
  }
  return Outcome::of(o.ctx.tensor(dims, dtype));
}

std::optional<Outcome> bad_axis(const Operands& o) {
  const auto axis = o.integer(relay::field::Axis);
  const std::size_t rank = o.tensor(0)->shape.size();
  if (!axis || axis_of(*axis, rank)) return std::nullopt;
  return Outcome::error(out_of_range(*axis, rank));
}

}  // namespace

Outcome Reduce(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return reduce_to(o, o.tensor(0)->dtype);
}

// The result has the dtype of the dims: int32 unless specified otherwise.
Outcome ArgReduce(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto& shape = o.tensor(0)->shape;
  const bool wide = !shape.empty() && shape[0].wide;
  return reduce_to(o, DType::Int(wide ? 64 : 32));
}

Outcome Variance(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  return reduce_to(o, o.tensor(0)->dtype);
}

Outcome ScanOp(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = bad_axis(o)) return *wrong;
  const DType dtype = o.dtype(relay::field::Dtype).value_or(o.tensor(0)->dtype);
  if (o.integer(relay::field::Axis)) return Outcome::of(o.ctx.tensor(o.tensor(0)->shape, dtype));
  Dim count = known(1);
  for (const Dim& d : o.tensor(0)->shape)
    if (!is_known(d) || !is_known(count) || __builtin_mul_overflow(count.value, d.value, &count.value)) count = Dim{};
  return Outcome::of(o.ctx.tensor(Dims{count}, dtype));
}

Outcome Sort(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = bad_axis(o)) return *wrong;
  return Outcome::of(o.types[0]);
}

Outcome Argsort(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = bad_axis(o)) return *wrong;
  return Outcome::of(o.ctx.tensor(o.tensor(0)->shape, o.dtype(relay::field::Dtype).value_or(DType::Int(32))));
}

Outcome TopK(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = bad_axis(o)) return *wrong;
  Dims dims = dims_of(*o.tensor(0));
  if (dims.empty()) return Outcome::error("the data has an axis");
  const std::size_t axis = *axis_of(o.integer(relay::field::Axis).value_or(-1), dims.size());
  const auto k = o.integer(relay::field::K);
  if (!k)
    dims[axis] = Dim{};
  else if (*k >= 1 && !(is_known(dims[axis]) && *k > dims[axis].value))
    dims[axis] = known(*k);
  return sorted_out(o, dims);
}

// Values, indices, or both, as specified by `ret_type`.
Outcome sorted_out(const Operands& o, const Dims& dims) {
  const Type* values = o.ctx.tensor(dims, o.tensor(0)->dtype);
  const Type* indices = o.ctx.tensor(dims, o.dtype(relay::field::Dtype).value_or(DType::Int(32)));
  const std::string_view what = o.string(relay::field::RetType);
  if (what == "values") return Outcome::of(values);
  if (what == "indices") return Outcome::of(indices);
  if (what != "both") return Outcome::error("`ret_type` is \"both\", \"values\" or \"indices\"");
  return Outcome::of(o.ctx.tuple_type(std::vector<const Type*>{values, indices}));
}

}  // namespace rldb::relay::relations
