// NumPy's unique, as used for R.unique: arguments are the tensor, sorted, return_index, return_inverse, return_counts,
// and optionally an axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "eval/relax/relax_op.h"

namespace rldb::eval {

using runtime::ErrorKind;
using runtime::fail;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

// A tensor as a list of items: its slices along an axis, or its elements.
struct Items {
  const Tensor& tensor;
  std::int64_t outer = 1;
  std::int64_t count = 0;
  std::int64_t inner = 1;

  std::int64_t element(std::int64_t item, std::int64_t k) const {
    return ((k / inner) * count + item) * inner + k % inner;
  }
  // Numbers ascending, NaN after them.
  bool less_element(std::int64_t a, std::int64_t b) const {
    const runtime::DType t = tensor.dtype();
    if (t.is_float()) {
      const double x = tensor.at(a), y = tensor.at(b);
      return std::isnan(x) || std::isnan(y) ? !std::isnan(x) && std::isnan(y) : x < y;
    }
    const std::int64_t x = runtime::load_as_int(tensor.peek() + std::size_t(a) * t.bytes(), t);
    const std::int64_t y = runtime::load_as_int(tensor.peek() + std::size_t(b) * t.bytes(), t);
    return t.is_uint() ? std::uint64_t(x) < std::uint64_t(y) : x < y;
  }
  bool operator()(std::int64_t a, std::int64_t b) const {
    for (std::int64_t k = 0; k < outer * inner; ++k) {
      if (less_element(element(a, k), element(b, k))) return true;
      if (less_element(element(b, k), element(a, k))) return false;
    }
    return false;
  }
};

Result<Value> items_at(const Items& items, const std::vector<std::int64_t>& which, std::vector<std::int64_t> shape) {
  RLDB_TRY(runtime::Ref<Tensor> out, Tensor::empty(std::move(shape), items.tensor.dtype()));
  const std::size_t width = items.tensor.dtype().bytes();
  std::byte* to = out->data();
  for (std::int64_t o = 0; o < items.outer; ++o)
    for (const std::int64_t item : which)
      for (std::int64_t i = 0; i < items.inner; ++i, to += width)
        std::memcpy(to, items.tensor.peek() + std::size_t(items.element(item, o * items.inner + i)) * width, width);
  return Value(std::move(out));
}

Result<Items> items_of(const Tensor& t, PackedArgs args, std::vector<std::int64_t>& shape, std::size_t& axis) {
  Items items{t};
  axis = 0;
  if (args.size() <= 5 || args[5].is_null()) {
    shape = {t.element_count()};
    items.count = t.element_count();
    return items;
  }
  std::int64_t given = args[5].is(ValueKind::Int) ? args[5].as_int() : t.ndim();
  if (given < 0) given += t.ndim();
  if (given < 0 || given >= t.ndim())
    return fail(ErrorKind::OutOfBounds, fmt::format("unique: axis of {}", runtime::describe(args[0])));
  axis = std::size_t(given);
  shape = t.shape();
  items.count = shape[axis];
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d != axis) (d < axis ? items.outer : items.inner) *= shape[d];
  return items;
}

}  // namespace

Result<Value> unique(PackedArgs args) {
  if (args.empty() || !args[0].is(ValueKind::Tensor)) return fail(ErrorKind::TypeMismatch, "unique needs a tensor");
  const Tensor& t = args[0].as_tensor();
  if (t.dtype().lanes != 1) return fail(ErrorKind::TypeMismatch, "unique needs a tensor of scalars");
  std::vector<std::int64_t> shape;
  std::size_t axis = 0;
  RLDB_TRY(const Items items, items_of(t, args, shape, axis));
  std::map<std::int64_t, std::vector<std::int64_t>, Items> by_value(items);
  for (std::int64_t i = 0; i < items.count; ++i) by_value[i].push_back(i);
  std::vector<const std::vector<std::int64_t>*> groups;
  for (const auto& [first, members] : by_value) groups.push_back(&members);
  // Not sorted: in the order of first occurrence.
  if (!flag_arg(args, 1))
    std::sort(groups.begin(), groups.end(), [](const auto* a, const auto* b) { return a->front() < b->front(); });

  std::vector<std::int64_t> firsts, counts, inverse(std::size_t(items.count));
  for (const auto* members : groups) {
    for (const std::int64_t m : *members) inverse[std::size_t(m)] = std::int64_t(firsts.size());
    firsts.push_back(members->front());
    counts.push_back(std::int64_t(members->size()));
  }
  shape[axis] = std::int64_t(firsts.size());
  RLDB_TRY(Value values, items_at(items, firsts, shape));
  std::vector<Value> results{std::move(values)};
  const std::vector<std::int64_t>* more[] = {&firsts, &inverse, &counts};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!flag_arg(args, i + 2)) continue;
    RLDB_TRY(Value v, int64_tensor(*more[i], {std::int64_t(more[i]->size())}));
    results.push_back(std::move(v));
  }
  return results.size() == 1 ? results[0] : Value::of_tuple(std::move(results));
}

}  // namespace rldb::eval
