// New tensors: from lists, ranges, and of one value.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "expression/form.h"
#include "rldb/expression/functions.h"

namespace rldb::expression {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using support::Ref;

Result<Value> function_Array(const Arguments& a) {
  RLDB_TRY(Ref<Tensor> t, as_tensor(a[0]));
  if (!a.given(1)) return Value(std::move(t));
  RLDB_TRY(const DType to, dtype_of(a[1]));
  // As in NumPy, the numbers of a list have to fit; a tensor is converted like `astype`.
  RLDB_TRY(Ref<Tensor> out, a[0].is(ValueKind::Tensor) ? cast(*t, to) : cast_in_range(*t, to));
  return Value(std::move(out));
}

namespace {

// How many of start, start + step, ... come before stop; exact.
std::int64_t steps_between(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto a = std::uint64_t(start), b = std::uint64_t(stop), by = std::uint64_t(step);
  const std::uint64_t count = step > 0 ? (b - a - 1) / by + 1 : (a - b - 1) / (0 - by) + 1;
  return std::int64_t(std::min<std::uint64_t>(count, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

Result<Value> function_Arange(const Arguments& a) {
  Value numbers[] = {Value::of_int(0), a[0], Value::of_int(1)};
  if (a.given(1)) numbers[0] = a[0], numbers[1] = a[1];
  if (a.given(2)) numbers[2] = a[2];
  bool real = false;
  for (Value& n : numbers) {
    RLDB_TRY(n, number_of(n));
    real = real || n.is(ValueKind::Float);
  }
  const double first = as_double(numbers[0]), last = as_double(numbers[1]), step = as_double(numbers[2]);
  if (step == 0) return fail(ErrorKind::TypeMismatch, "the step is 0");
  constexpr std::int64_t kMost = std::int64_t(1) << 50;
  std::int64_t count = 0;
  if (real) {
    const double wanted = std::ceil((last - first) / step);
    if (!std::isfinite(wanted) || wanted > double(kMost))
      return fail(ErrorKind::TypeMismatch, "the numbers do not end");
    count = std::int64_t(std::max(wanted, 0.0));
  } else {
    count = steps_between(numbers[0].as_int(), numbers[1].as_int(), numbers[2].as_int());
    if (count > kMost) return fail(ErrorKind::TypeMismatch, "that many numbers cannot be made");
  }
  RLDB_TRY(Ref<Tensor> out, Tensor::empty({count}, real ? DType::Float(64) : DType::Int(64)));
  for (std::int64_t i = 0; i < count; ++i) {
    support::poll();
    const double r = first + double(i) * step;
    const auto n =
        std::int64_t(std::uint64_t(numbers[0].as_int()) + std::uint64_t(i) * std::uint64_t(numbers[2].as_int()));
    real ? store(*out, i, 1, &r) : store(*out, i, 1, &n);
  }
  if (!a.given(3)) return Value(std::move(out));
  RLDB_TRY(const DType to, dtype_of(a[3]));
  RLDB_TRY(Ref<Tensor> converted, cast_in_range(*out, to));
  return Value(std::move(converted));
}

Result<Value> function_Linspace(const Arguments& a) {
  RLDB_TRY(const double first, real_of(a[0], "the start"));
  RLDB_TRY(const double last, real_of(a[1], "the stop"));
  std::int64_t count = 50;
  if (a.given(2)) {
    RLDB_TRY(count, integer_of(a[2], "the number of elements"));
  }
  if (count < 0) return fail(ErrorKind::TypeMismatch, "the number of elements is negative");
  bool ends = true;
  if (a.given(3)) {
    RLDB_TRY(ends, truth(a[3]));
  }
  RLDB_TRY(Ref<Tensor> out, Tensor::empty({count}, DType::Float(64)));
  const std::int64_t steps = ends ? count - 1 : count;
  const double step = steps > 0 ? (last - first) / double(steps) : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    support::poll();
    const double r = ends && i > 0 && i == count - 1 ? last : first + double(i) * step;
    store(*out, i, 1, &r);
  }
  return Value(std::move(out));
}

namespace {

Result<DType> dtype_or_float64(const Value& given) {
  if (given.is_null()) return DType::Float(64);
  return dtype_of(given);
}

template <class Number>
Result<Value> filled(const Value& dims, DType dtype, Number value) {
  RLDB_TRY(Dims shape, integers_of(dims, "a dimension"));
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(std::move(shape), dtype));
  const std::vector<Number> piece(kChunk, value);
  const bool is_zero = std::is_integral_v<Number> && value == 0;  // as memory is at first; -0.0 is not
  const std::int64_t count = is_zero ? 0 : out->element_count();
  for (std::int64_t at = 0; at < count; at += kChunk) {
    support::poll();
    store(*out, at, std::min(kChunk, count - at), piece.data());
  }
  return Value(std::move(out));
}

Result<Value> filled(const Arguments& a, std::int64_t value) {
  RLDB_TRY(const DType dtype, dtype_or_float64(a[1]));
  return filled(a[0], dtype, value);
}

}  // namespace

Result<Value> function_Zeros(const Arguments& a) { return filled(a, 0); }
Result<Value> function_Ones(const Arguments& a) { return filled(a, 1); }

Result<Value> function_Full(const Arguments& a) {
  RLDB_TRY(const Value number, number_of(a[1]));
  const bool real = number.is(runtime::ValueKind::Float);
  DType dtype = real ? DType::Float(64) : number.is(runtime::ValueKind::Bool) ? DType::Bool() : DType::Int(64);
  if (a.given(2)) {
    RLDB_TRY(dtype, dtype_of(a[2]));
    RLDB_TRY(const Ref<Tensor> one, as_tensor(number));
    RLDB_TRY([[maybe_unused]] const Ref<Tensor> fits, cast_in_range(*one, dtype));
  }
  return real ? filled(a[0], dtype, number.as_float()) : filled(a[0], dtype, number.as_int());
}

Result<Value> function_Eye(const Arguments& a) {
  RLDB_TRY(const std::int64_t rows, integer_of(a[0], "the number of rows"));
  std::int64_t columns = rows;
  if (a.given(1)) {
    RLDB_TRY(columns, integer_of(a[1], "the number of columns"));
  }
  RLDB_TRY(const DType dtype, dtype_or_float64(a[2]));
  RLDB_TRY(Ref<Tensor> out, Tensor::empty({rows, columns}, dtype));
  constexpr std::int64_t kOne = 1;
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) store(*out, i * columns + i, 1, &kOne);
  return Value(std::move(out));
}

}  // namespace rldb::expression
