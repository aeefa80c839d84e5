// tvm.contrib.sort: one order of indices per row, from which values and indices are read.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "rldb/runtime/contrib.h"
#include "rldb/runtime/stoppable.h"
#include "rldb/support/check.h"
#include "runtime/value/failures.h"
#include "runtime/value/row_order.h"

namespace rldb::runtime {

namespace {

// The rows of a tensor along an axis: elements `base + i * stride`, i below `length`.
struct Rows {
  std::int64_t length = 1;
  std::int64_t stride = 1;
  std::int64_t outer = 1;
  std::int64_t count() const { return outer * stride; }
  std::int64_t base(std::int64_t row) const { return row / stride * stride * length + row % stride; }
};

Result<Rows> rows_of(const Tensor& t, std::int64_t axis) {
  const auto rank = std::int64_t(t.shape().size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return mismatch(fmt::format("there is no axis {} in a tensor of rank {}", axis, rank));
  Rows rows;
  rows.length = t.shape()[std::size_t(axis)];
  for (std::int64_t i = 0; i < axis; ++i) rows.outer *= t.shape()[std::size_t(i)];
  for (std::int64_t i = axis + 1; i < rank; ++i) rows.stride *= t.shape()[std::size_t(i)];
  return rows;
}

Result<Tensor*> ordered_tensor(PackedArgs args, std::size_t i) {
  if (!args[i].is(ValueKind::Tensor)) return mismatch(fmt::format("argument {} is not a tensor", i));
  Tensor& t = args[i].as_tensor();
  if (!can_order(t.dtype()))
    return fail(ErrorKind::Unsupported, fmt::format("argument {}: no order of `{}`", i, to_string(t.dtype())));
  return &t;
}

struct Request {
  const Tensor* data = nullptr;
  const Tensor* valid = nullptr;  // how many elements of each row take part; null: all
  Tensor* values = nullptr;
  Tensor* indices = nullptr;
  std::int64_t axis = 0;
  bool ascend = true;
  std::int64_t kept = -1;  // elements of each row that are written; -1: all
};

Result<support::Unit> check_output(const Tensor& data, const Tensor* out, std::size_t axis, std::int64_t kept) {
  if (!out) return support::Unit{};
  std::vector<std::int64_t> want = data.shape();
  want[axis] = kept;
  if (out->shape() == want) return support::Unit{};
  return fail(ErrorKind::ShapeMismatch, fmt::format("the result has the shape ({}), but ({}) is written",
                                                    fmt::join(out->shape(), ", "), fmt::join(want, ", ")));
}

// ---- results ----

template <class T>
void copy_elements(const Tensor& from, std::int64_t base, std::int64_t stride, std::span<const std::int64_t> order,
                   Tensor& to, std::int64_t at) {
  for (const std::int64_t index : order) {
    std::memcpy(to.data() + std::size_t(at) * sizeof(T), from.peek() + std::size_t(base + index * stride) * sizeof(T),
                sizeof(T));
    at += stride;
  }
}

void write_values(const Tensor& from, std::int64_t base, std::int64_t stride, std::span<const std::int64_t> order,
                  Tensor& to, std::int64_t at) {
  switch (from.dtype().bytes()) {
    case 1:
      return copy_elements<std::uint8_t>(from, base, stride, order, to, at);
    case 2:
      return copy_elements<std::uint16_t>(from, base, stride, order, to, at);
    case 4:
      return copy_elements<std::uint32_t>(from, base, stride, order, to, at);
    case 8:
      return copy_elements<std::uint64_t>(from, base, stride, order, to, at);
    default:
      RLDB_CHECK(false, "an element that can be ordered has 1, 2, 4 or 8 bytes");
  }
}

template <class T>
void copy_indices(std::span<const std::int64_t> order, Tensor& to, std::int64_t at, std::int64_t stride) {
  for (const std::int64_t index : order) {
    const T v = T(index);
    std::memcpy(to.data() + std::size_t(at) * sizeof(T), &v, sizeof(T));
    at += stride;
  }
}

void write_indices(std::span<const std::int64_t> order, Tensor& to, std::int64_t at, std::int64_t stride) {
  const DType t = to.dtype();
  if (t == DType::Int(64)) return copy_indices<std::int64_t>(order, to, at, stride);
  if (t == DType::Int(32)) return copy_indices<std::int32_t>(order, to, at, stride);
  if (t == DType::Float(32)) return copy_indices<float>(order, to, at, stride);
  for (const std::int64_t index : order) {
    std::byte* place = to.data() + std::size_t(at) * t.bytes();
    if (t.is_float())
      store_double(place, t, double(index));
    else
      store_int(place, t, index);
    at += stride;
  }
}

Result<Value> run_to_end(const Request& r, Watch& watch) {
  RLDB_TRY(const Rows rows, rows_of(*r.data, r.axis));
  const auto axis = std::size_t(r.axis < 0 ? r.axis + std::int64_t(r.data->shape().size()) : r.axis);
  const std::int64_t kept = r.kept < 0 ? rows.length : r.kept;
  if (kept > rows.length)
    return fail(ErrorKind::ShapeMismatch, fmt::format("k is {}, but the extent of the axis is {}", kept, rows.length));
  RLDB_TRY_VOID(check_output(*r.data, r.values, axis, kept));
  RLDB_TRY_VOID(check_output(*r.data, r.indices, axis, kept));
  if (r.values && r.values->dtype() != r.data->dtype()) return mismatch("the values have another dtype than the data");
  if (r.valid && r.valid->element_count() < rows.count()) return mismatch("there is no count for each row");
  if (r.data->element_count() == 0) return Value::null();
  RLDB_TRY(auto memory, Tensor::empty({rows.length}, DType::Int(64)));
  const std::span<std::int64_t> order(reinterpret_cast<std::int64_t*>(memory->data()), std::size_t(rows.length));
  RLDB_TRY(RowOrder row_order, RowOrder::make(r.data->dtype(), r.ascend, rows.length));
  const Rows to{kept, rows.stride, rows.outer};
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    watch.look();
    const std::int64_t base = rows.base(row);
    const auto part = r.valid ? std::clamp<std::int64_t>(std::int64_t(r.valid->at(row)), 0, rows.length) : rows.length;
    // Elements that take no part follow in their own order.
    std::iota(order.begin() + std::min(part, kept), order.end(), std::min(part, kept));
    row_order.find({r.data, base, rows.stride, part}, order.first(std::size_t(std::min(part, kept))), watch);
    const auto first = order.first(std::size_t(kept));
    if (r.values) write_values(*r.data, base, rows.stride, first, *r.values, to.base(row));
    if (r.indices) write_indices(first, *r.indices, to.base(row), rows.stride);
  }
  return Value::null();
}

Result<Value> run(const Request& r) {
  return stoppable("the ordering of elements", [&](Watch& watch) { return run_to_end(r, watch); });
}

bool is_number(const Value& v) { return v.is(ValueKind::Int) || v.is(ValueKind::Bool); }

}  // namespace

Result<Value> contrib_sort(PackedArgs args) {
  if (args.size() != 4 || !is_number(args[2]) || !is_number(args[3]))
    return mismatch("expected (data, out, axis, is_ascend)");
  RLDB_TRY(const Tensor* data, ordered_tensor(args, 0));
  RLDB_TRY(Tensor * out, ordered_tensor(args, 1));
  return run({data, nullptr, out, nullptr, args[2].as_int(), args[3].as_int() != 0});
}

Result<Value> contrib_argsort(PackedArgs args) {
  if (args.size() != 4 || !is_number(args[2]) || !is_number(args[3]))
    return mismatch("expected (data, out, axis, is_ascend)");
  RLDB_TRY(const Tensor* data, ordered_tensor(args, 0));
  RLDB_TRY(Tensor * out, ordered_tensor(args, 1));
  return run({data, nullptr, nullptr, out, args[2].as_int(), args[3].as_int() != 0});
}

Result<Value> contrib_argsort_nms(PackedArgs args) {
  if (args.size() != 5 || !is_number(args[3]) || !is_number(args[4]))
    return mismatch("expected (data, valid_count, out, axis, is_ascend)");
  RLDB_TRY(const Tensor* data, ordered_tensor(args, 0));
  RLDB_TRY(const Tensor* valid, ordered_tensor(args, 1));
  RLDB_TRY(Tensor * out, ordered_tensor(args, 2));
  return run({data, valid, nullptr, out, args[3].as_int(), args[4].as_int() != 0});
}

Result<Value> contrib_topk(PackedArgs args) {
  const std::string_view wanted = "expected (data, out..., k, axis, ret_type, is_ascend)";
  if (args.size() < 6 || args.size() > 7) return mismatch(std::string(wanted));
  const PackedArgs how = args.subspan(args.size() - 4);
  if (!is_number(how[0]) || !is_number(how[1]) || !how[2].is(ValueKind::String) || !is_number(how[3]))
    return mismatch(std::string(wanted));
  const std::string& which = how[2].as_string();
  if (which != "both" && which != "values" && which != "indices")
    return mismatch(fmt::format("ret_type is \"{}\": it must be \"both\", \"values\" or \"indices\"", which));
  if ((which == "both") != (args.size() == 7))
    return mismatch("ret_type says another number of outputs than there are");
  RLDB_TRY(const Tensor* data, ordered_tensor(args, 0));
  RLDB_TRY(Tensor * first, ordered_tensor(args, 1));
  Request r{data, nullptr, nullptr, nullptr, how[1].as_int(), how[3].as_int() != 0};
  r.kept = how[0].as_int() < 1 ? -1 : how[0].as_int();
  (which == "indices" ? r.indices : r.values) = first;
  if (which == "both") {
    RLDB_TRY(r.indices, ordered_tensor(args, 2));
  }
  return run(r);
}

}  // namespace rldb::runtime
