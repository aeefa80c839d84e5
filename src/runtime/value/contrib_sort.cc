// tvm.contrib.sort: one order of indices per row, from which values and indices are read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "rldb/runtime/contrib.h"
#include "rldb/runtime/stoppable.h"
#include "rldb/support/check.h"
#include "runtime/value/failures.h"

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

template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (std::isnan(b) && !std::isnan(a));
  return a < b;
}

// Sorts `order`, indices into the row at `base`.
using OrderRow = void (*)(const Tensor& t, const Rows& rows, std::int64_t base, bool ascend,
                          std::span<std::int64_t> order, Watch& watch);

template <class Load>
void order_by(Load load, bool ascend, std::span<std::int64_t> order, Watch& watch) {
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    watch.look();
    return ascend ? before(load(a), load(b)) : before(load(b), load(a));
  });
}

template <class T>
void order_native(const Tensor& t, const Rows& rows, std::int64_t base, bool ascend, std::span<std::int64_t> order,
                  Watch& watch) {
  const std::byte* data = t.data();
  const auto load = [&](std::int64_t i) {
    T v;
    std::memcpy(&v, data + std::size_t(base + i * rows.stride) * sizeof(T), sizeof(T));
    return v;
  };
  order_by(load, ascend, order, watch);
}

void order_small_float(const Tensor& t, const Rows& rows, std::int64_t base, bool ascend, std::span<std::int64_t> order,
                       Watch& watch) {
  order_by([&](std::int64_t i) { return t.at(base + i * rows.stride); }, ascend, order, watch);
}

OrderRow order_for(DType t) {
  const bool is_unsigned = t.is_uint() || t.is_bool();
  if (t == DType::Float(32)) return order_native<float>;
  if (t == DType::Float(64)) return order_native<double>;
  if (t.is_float()) return order_small_float;
  switch (t.bytes()) {
    case 1:
      return is_unsigned ? order_native<std::uint8_t> : order_native<std::int8_t>;
    case 2:
      return is_unsigned ? order_native<std::uint16_t> : order_native<std::int16_t>;
    case 4:
      return is_unsigned ? order_native<std::uint32_t> : order_native<std::int32_t>;
    case 8:
      return is_unsigned ? order_native<std::uint64_t> : order_native<std::int64_t>;
    default:
      return nullptr;
  }
}

Result<Tensor*> ordered_tensor(PackedArgs args, std::size_t i) {
  if (!args[i].is(ValueKind::Tensor)) return mismatch(fmt::format("argument {} is not a tensor", i));
  Tensor& t = args[i].as_tensor();
  if (!t.dtype().is_scalar() || !(t.dtype().is_float() || t.dtype().is_integral()) || !order_for(t.dtype()))
    return fail(ErrorKind::Unsupported, fmt::format("argument {}: no order of `{}`", i, to_string(t.dtype())));
  return &t;
}

void store_index(Tensor& out, std::int64_t at, std::int64_t index) {
  std::byte* to = out.data() + std::size_t(at) * out.dtype().bytes();
  if (out.dtype().is_float())
    store_double(to, out.dtype(), double(index));
  else
    store_int(to, out.dtype(), index);
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

// The first elements of a row, in the order that was found.
void write_row(const Request& r, std::int64_t base, std::int64_t stride, std::span<const std::int64_t> order,
               std::int64_t at, Watch& watch) {
  const std::size_t width = r.data->dtype().bytes();
  for (const std::int64_t index : order) {
    watch.look();
    const std::int64_t from = base + index * stride;
    if (r.values)
      std::memcpy(r.values->data() + std::size_t(at) * width, r.data->data() + std::size_t(from) * width, width);
    if (r.indices) store_index(*r.indices, at, index);
    at += stride;
  }
}

Result<Value> run_to_end(const Request& r, Watch& watch) {
  RLDB_TRY(const Rows rows, rows_of(*r.data, r.axis));
  const auto axis = std::size_t(r.axis < 0 ? r.axis + std::int64_t(r.data->shape().size()) : r.axis);
  const std::int64_t kept = r.kept < 0 ? rows.length : r.kept;
  if (kept > rows.length)
    return fail(ErrorKind::ShapeMismatch, fmt::format("k is {}, but the axis has {} element(s)", kept, rows.length));
  RLDB_TRY_VOID(check_output(*r.data, r.values, axis, kept));
  RLDB_TRY_VOID(check_output(*r.data, r.indices, axis, kept));
  if (r.values && r.values->dtype() != r.data->dtype()) return mismatch("the values have another dtype than the data");
  if (r.valid && r.valid->element_count() < rows.count()) return mismatch("there is no count for each row");
  if (r.data->element_count() == 0) return Value::null();
  RLDB_TRY(auto memory, Tensor::empty({rows.length}, DType::Int(64)));
  const std::span<std::int64_t> order(reinterpret_cast<std::int64_t*>(memory->data()), std::size_t(rows.length));
  const OrderRow order_row = order_for(r.data->dtype());
  const Rows to{kept, rows.stride, rows.outer};
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    watch.look();
    const std::int64_t base = rows.base(row);
    std::iota(order.begin(), order.end(), 0);
    const auto part = r.valid ? std::clamp<std::int64_t>(std::int64_t(r.valid->at(row)), 0, rows.length) : rows.length;
    order_row(*r.data, rows, base, r.ascend, order.first(std::size_t(part)), watch);
    write_row(r, base, rows.stride, order.first(std::size_t(kept)), to.base(row), watch);
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
