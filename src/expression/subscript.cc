// Subscripts: integers, slices, masks and integer arrays to a selection, read or written.
#include "expression/subscript.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "rldb/runtime/device_error.h"

namespace rldb::expression {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Ref;

namespace {

Result<std::int64_t> checked(std::int64_t given, std::int64_t count, std::size_t dimension) {
  const std::int64_t i = given < 0 ? given + count : given;
  if (i >= 0 && i < count) return i;
  return fail(ErrorKind::OutOfBounds,
              fmt::format("index {} is out of range: dimension {} has {}", given, dimension, count));
}

struct Range {
  std::int64_t start, step, count;
};

Result<Range> range_of(const SliceIndex& s, std::int64_t size) {
  const std::int64_t step = s.step.value_or(1);
  if (step == 0) return fail(ErrorKind::TypeMismatch, "the step of a slice cannot be 0");
  const auto limit = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const std::int64_t at = *given < 0 ? (*given < -size ? low : *given + size) : *given;
    return std::clamp(at, low, high);
  };
  const std::int64_t start = limit(s.start, step > 0 ? 0 : size - 1);
  const std::int64_t stop = limit(s.stop, step > 0 ? size : -1);
  std::int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  // -step overflows for the smallest integer only, whose slice has one element.
  if (step < 0 && start > stop)
    count = step == std::numeric_limits<std::int64_t>::min() ? 1 : (start - stop - 1) / -step + 1;
  return Range{start, count > 1 ? step : 1, count};  // a step that is never taken may be of any size
}

// The positions of a mask's true elements, one tensor of integers per dimension of the mask.
Result<std::vector<Ref<Tensor>>> places_of_mask(const Tensor& mask) {
  std::vector<std::int64_t> flat;
  for (std::int64_t i = 0; i < mask.element_count(); ++i) {
    support::poll();
    if (mask.at(i) != 0) flat.push_back(i);
  }
  std::vector<Ref<Tensor>> places;
  std::int64_t stride = mask.element_count();
  for (const std::int64_t d : mask.shape()) {
    RLDB_TRY(Ref<Tensor> t, Tensor::empty({std::int64_t(flat.size())}, DType::Int(64)));
    if (d > 0) stride /= d;
    for (std::size_t i = 0; i < flat.size(); ++i) {
      const std::int64_t at = flat[i] / std::max<std::int64_t>(stride, 1) % d;
      store(*t, std::int64_t(i), 1, &at);
    }
    places.push_back(std::move(t));
  }
  return places;
}

// Goes through the items from the left, one dimension of the tensor at a time.
class Selector {
 public:
  Selector(const Tensor& t) : tensor_(t), strides_(t.shape().size(), 1) {
    for (std::size_t d = strides_.size(); d-- > 1;) strides_[d - 1] = strides_[d] * t.shape()[d];
  }

  Result<Selection> select(const std::vector<IndexItem>& items) {
    RLDB_TRY_VOID(count(items));
    for (const IndexItem& item : items) RLDB_TRY_VOID(add(item));
    while (dimension_ < tensor_.shape().size()) whole();
    if (!arrays_.empty()) RLDB_TRY_VOID(place_arrays());
    return std::move(out_);
  }

 private:
  static std::size_t takes(const IndexItem& item) {
    if (std::holds_alternative<NewAxisIndex>(item) || std::holds_alternative<EllipsisIndex>(item)) return 0;
    const Value* v = std::get_if<Value>(&item);
    const bool mask = v && v->is(ValueKind::Tensor) && v->as_tensor().dtype().is_bool();
    return mask ? v->as_tensor().shape().size() : 1;
  }
  Result<support::Unit> count(const std::vector<IndexItem>& items) {
    std::size_t taken = 0, ellipses = 0;
    for (const IndexItem& item : items) {
      taken += takes(item);
      ellipses += std::size_t(std::holds_alternative<EllipsisIndex>(item));
    }
    arrayed_ = std::any_of(items.begin(), items.end(), [](const IndexItem& item) {
      const Value* v = std::get_if<Value>(&item);
      return v && v->is(ValueKind::Tensor);
    });
    const std::size_t rank = tensor_.shape().size();
    if (ellipses > 1) return fail(ErrorKind::TypeMismatch, "`...` can occur only once in a subscript");
    if (taken > rank)
      return fail(ErrorKind::OutOfBounds, fmt::format("{} indices into a tensor of rank {}", taken, rank));
    skipped_ = rank - taken;
    return support::Unit{};
  }

  void walk(std::int64_t count, std::int64_t stride) {
    out_.shape.push_back(count);
    out_.walks.push_back({count, stride, {}});
  }
  void whole() {
    walk(tensor_.shape()[dimension_], strides_[dimension_]);
    ++dimension_;
  }

  Result<support::Unit> add(const IndexItem& item) {
    if (std::holds_alternative<NewAxisIndex>(item)) {
      walk(1, 0);
    } else if (std::holds_alternative<EllipsisIndex>(item)) {
      for (std::size_t i = 0; i < skipped_; ++i) whole();
    } else if (const auto* slice = std::get_if<SliceIndex>(&item)) {
      RLDB_TRY(const Range r, range_of(*slice, tensor_.shape()[dimension_]));
      if (r.count > 0) out_.base += r.start * strides_[dimension_];
      walk(r.count, r.step * strides_[dimension_]);
      ++dimension_;
    } else {
      return add_value(std::get<Value>(item));
    }
    return support::Unit{};
  }

  Result<support::Unit> add_value(const Value& v) {
    if (v.is(ValueKind::Int)) {
      RLDB_TRY(const std::int64_t i, checked(v.as_int(), tensor_.shape()[dimension_], dimension_));
      out_.base += i * strides_[dimension_++];
      if (arrayed_) stand();
      return support::Unit{};
    }
    if (!v.is(ValueKind::Tensor) || v.as_tensor().dtype().is_float())
      return fail(ErrorKind::TypeMismatch, "an index is not an integer");
    const Tensor& t = v.as_tensor();
    if (!t.dtype().is_bool()) return add_array(v.tensor_ref());
    for (std::size_t d = 0; d < t.shape().size(); ++d)
      if (t.shape()[d] != tensor_.shape()[dimension_ + d])
        return fail(ErrorKind::ShapeMismatch,
                    fmt::format("a mask of ({}) cannot select from ({}): dimension {} is {} and {}",
                                fmt::join(t.shape(), ", "), fmt::join(tensor_.shape(), ", "), dimension_ + d,
                                t.shape()[d], tensor_.shape()[dimension_ + d]));
    RLDB_TRY(const std::vector<Ref<Tensor>> places, places_of_mask(t));
    for (const Ref<Tensor>& p : places) RLDB_TRY_VOID(add_array(p));
    return support::Unit{};
  }

  Result<support::Unit> add_array(Ref<Tensor> t) {
    stand();
    arrays_.push_back({std::move(t), dimension_++});
    return support::Unit{};
  }

  // Adjacent arrays put their dimensions in place, others put them first. Beside an array an integer counts as an array
  // too.
  void stand() {
    if (!first_) first_ = out_.walks.size();
    apart_ = apart_ || out_.walks.size() != *first_;
  }

  Result<support::Unit> place_arrays() {
    std::vector<const Dims*> shapes;
    for (const auto& [t, d] : arrays_) shapes.push_back(&t->shape());
    RLDB_TRY(const Broadcast all, Broadcast::of(shapes));
    RLDB_TRY(Ref<Tensor> sized, Tensor::empty(all.shape(), DType::Int(64)));  // limits the size of the table
    std::vector<std::int64_t> places(static_cast<std::size_t>(sized->element_count()));
    std::optional<support::Failure<runtime::Error>> wrong;
    all.runs([&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
      for (std::int64_t i = 0; i < n && !wrong; ++i) {
        for (std::size_t k = 0; k < arrays_.size(); ++k) {
          std::int64_t index = 0;
          load(*arrays_[k].first, starts[k] + i * steps[k], 0, 1, &index);
          const std::size_t d = arrays_[k].second;
          const auto good = checked(index, tensor_.shape()[d], d);
          if (!good.ok())
            wrong = support::Failure(good.error());
          else
            places[std::size_t(at + i)] += *good * strides_[d];
        }
      }
    });
    if (wrong) return *wrong;
    const std::size_t where = apart_ ? 0 : *first_;
    const auto count = std::int64_t(places.size());
    out_.walks.insert(out_.walks.begin() + std::ptrdiff_t(where), Selection::Walk{count, 0, std::move(places)});
    out_.shape.insert(out_.shape.begin() + std::ptrdiff_t(where), all.shape().begin(), all.shape().end());
    return support::Unit{};
  }

  const Tensor& tensor_;
  Dims strides_;
  std::size_t dimension_ = 0;                                // the next one of the tensor
  std::size_t skipped_ = 0;                                  // dimensions covered by `...`
  std::vector<std::pair<Ref<Tensor>, std::size_t>> arrays_;  // with the dimension that each indexes
  bool arrayed_ = false;                                     // the indices include an array or mask
  std::optional<std::size_t> first_;                         // the dimension of the result at the first of them
  bool apart_ = false;                                       // they are not all adjacent
  Selection out_;
};

bool lies_together(const Selection& s) {
  std::int64_t stride = 1;
  for (std::size_t d = s.walks.size(); d-- > 0;) {
    const Selection::Walk& w = s.walks[d];
    if (!w.places.empty() || (w.count != 1 && w.stride != stride)) return false;
    stride *= w.count;
  }
  return true;
}

Result<Value> gather(const Tensor& t, const Selection& s) {
  RLDB_TRY_VOID(runtime::read_back(*t.storage()));
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(s.shape, t.dtype()));
  const std::size_t bytes = t.dtype().bytes();
  std::byte* to = out->data();
  if (out->element_count() > 0)
    s.each([&](std::int64_t flat) {
      std::memcpy(to, t.peek() + std::size_t(flat) * bytes, bytes);
      to += bytes;
    });
  return Value(std::move(out));
}

Result<Value> field(const Value& v, const std::vector<IndexItem>& items) {
  const bool shape = v.is(ValueKind::Shape);
  const auto count = std::int64_t(shape ? v.as_shape().size() : v.as_tuple().fields.size());
  if (items.size() != 1) return fail(ErrorKind::TypeMismatch, "expected one index");
  if (const auto* slice = std::get_if<SliceIndex>(&items[0])) {
    RLDB_TRY(const Range r, range_of(*slice, count));
    std::vector<std::int64_t> dims;
    std::vector<Value> fields;
    for (std::int64_t i = 0, at = r.start; i < r.count; ++i, at += r.step) {
      if (shape)
        dims.push_back(v.as_shape()[std::size_t(at)]);
      else
        fields.push_back(v.as_tuple().fields[std::size_t(at)]);
    }
    return shape ? Value::of_shape(std::move(dims)) : Value::of_tuple(std::move(fields));
  }
  const auto* index = std::get_if<Value>(&items[0]);
  if (!index) return fail(ErrorKind::TypeMismatch, "expected an integer or a slice");
  RLDB_TRY(const Value number, number_of(*index));
  if (!number.is(ValueKind::Int)) return fail(ErrorKind::TypeMismatch, "an index is not an integer");
  const std::int64_t i = number.as_int() < 0 ? number.as_int() + count : number.as_int();
  if (i < 0 || i >= count)
    return fail(ErrorKind::OutOfBounds,
                fmt::format("index {} is out of range: the {} has {} {}{}", number.as_int(), shape ? "shape" : "tuple",
                            count, shape ? "dimension" : "field", count == 1 ? "" : "s"));
  return shape ? Value::of_int(v.as_shape()[std::size_t(i)]) : v.as_tuple().fields[std::size_t(i)];
}

}  // namespace

Result<Selection> select(const Tensor& t, const std::vector<IndexItem>& items) { return Selector(t).select(items); }

Result<Value> subscript(const Value& v, const std::vector<IndexItem>& items) {
  if (v.is(ValueKind::Shape) || v.is(ValueKind::Tuple)) return field(v, items);
  if (!v.is(ValueKind::Tensor))
    return fail(ErrorKind::TypeMismatch, fmt::format("{} cannot be indexed", runtime::describe(v)));
  const Tensor& t = v.as_tensor();
  if (!t.dtype().is_scalar())
    return fail(ErrorKind::Unsupported, fmt::format("elements of {} cannot be indexed", runtime::describe(v)));
  RLDB_TRY(Selection s, select(t, items));
  if (!lies_together(s)) return gather(t, s);
  RLDB_TRY(auto part, Tensor::view(t.storage(), t.byte_offset() + std::size_t(s.base) * t.dtype().bytes(),
                                   std::move(s.shape), t.dtype()));
  return Value(std::move(part));
}

}  // namespace rldb::expression
