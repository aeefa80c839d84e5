// Reshaping and reordering tensors, and reading shapes and axes from arguments.
#include "expression/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "expression/subscript.h"
#include "rldb/expression/functions.h"

namespace rldb::expression {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Ref;

Result<std::int64_t> integer_of(const Value& v, std::string_view what) {
  RLDB_TRY(const Value number, number_of(v));
  if (number.is(ValueKind::Float))
    return fail(ErrorKind::TypeMismatch, fmt::format("{} is {}, which is not an integer", what, runtime::describe(v)));
  return number.as_int();
}

Result<double> real_of(const Value& v, std::string_view) {
  RLDB_TRY(const Value number, number_of(v));
  return as_double(number);
}

Result<DType> dtype_of(const Value& v) {
  if (v.is(ValueKind::DType)) return v.as_dtype();
  const auto t = v.is(ValueKind::String) ? runtime::parse_dtype(v.as_string()) : std::nullopt;
  if (t && t->is_scalar() && (t->is_integral() || t->is_float())) return *t;
  return fail(ErrorKind::TypeMismatch,
              fmt::format("{} is not an element type: expected a string such as 'float32'", runtime::describe(v)));
}

Result<Dims> integers_of(const Value& v, std::string_view what) {
  if (v.is(ValueKind::Shape)) return v.as_shape();
  Dims all;
  if (v.is(ValueKind::Tuple)) {
    for (const Value& field : v.as_tuple().fields) {
      RLDB_TRY(const std::int64_t i, integer_of(field, what));
      all.push_back(i);
    }
    return all;
  }
  RLDB_TRY(const std::int64_t one, integer_of(v, what));
  all.push_back(one);
  return all;
}

Result<std::vector<std::size_t>> axes_of(const Value& v, std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t(0));
  if (v.is_null()) return axes;
  axes.clear();
  RLDB_TRY(const Dims given, integers_of(v, "an axis"));
  for (const std::int64_t a : given) {
    const std::int64_t at = a < 0 ? a + std::int64_t(rank) : a;
    if (at < 0 || at >= std::int64_t(rank))
      return fail(ErrorKind::OutOfBounds, fmt::format("there is no axis {}: the tensor has rank {}", a, rank));
    if (std::find(axes.begin(), axes.end(), std::size_t(at)) != axes.end())
      return fail(ErrorKind::TypeMismatch, fmt::format("axis {} is given twice", a));
    axes.push_back(std::size_t(at));
  }
  return axes;
}

Result<Ref<Tensor>> transposed(const Tensor& t, const std::vector<std::size_t>& order) {
  Dims strides(t.shape().size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * t.shape()[d];
  Selection all;
  for (const std::size_t d : order) {
    all.shape.push_back(t.shape()[d]);
    all.walks.push_back({t.shape()[d], strides[d], {}});
  }
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(all.shape, t.dtype()));
  const std::size_t bytes = t.dtype().bytes();
  std::byte* to = out->data();
  all.each([&](std::int64_t flat) {
    std::copy_n(t.peek() + std::size_t(flat) * bytes, bytes, to);
    to += bytes;
  });
  return out;
}

Result<Ref<Tensor>> reshaped(const Ref<Tensor>& t, Dims shape) {
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& d : shape) {
    if (d == -1 && open) return fail(ErrorKind::ShapeMismatch, "only one dimension of a shape can be -1");
    if (d == -1)
      open = &d;
    else if (d < 0 || __builtin_mul_overflow(known, d, &known))
      return fail(ErrorKind::ShapeMismatch, fmt::format("({}) is not a shape", fmt::join(shape, ", ")));
  }
  const std::int64_t count = t->element_count();
  if (open && known > 0 && count % known == 0) *open = count / known, known = count;
  if (known != count || (open && *open == -1))
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("{} elements do not make the shape ({})", count, fmt::join(shape, ", ")));
  return Tensor::view(t->storage(), t->byte_offset(), std::move(shape), t->dtype());
}

// ---- functions ----

namespace {

// `reshape(x, (2, 3))` and `reshape(x, 2, 3)`.
Result<Dims> rest_as_integers(const std::vector<Value>& rest, std::string_view what) {
  if (rest.size() == 1) return integers_of(rest[0], what);
  return integers_of(Value::of_tuple(rest), what);
}

}  // namespace

Result<Value> function_AsType(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  RLDB_TRY(const DType to, dtype_of(a[1]));
  RLDB_TRY(Ref<Tensor> out, cast(*t, to));
  return Value(std::move(out));
}

Result<Value> function_View(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  RLDB_TRY(const DType to, dtype_of(a[1]));
  if (to.bytes() != t->dtype().bytes())
    return fail(ErrorKind::TypeMismatch, fmt::format("elements of {} are not as wide as those of {}",
                                                     runtime::to_string(t->dtype()), runtime::to_string(to)));
  RLDB_TRY(Ref<Tensor> out, Tensor::view(t->storage(), t->byte_offset(), t->shape(), to));
  return Value(std::move(out));
}

Result<Value> function_Reshape(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  RLDB_TRY(Dims shape, rest_as_integers(a.rest, "a dimension"));
  RLDB_TRY(Ref<Tensor> out, reshaped(t, std::move(shape)));
  return Value(std::move(out));
}

Result<Value> function_Transpose(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  const std::size_t rank = t->shape().size();
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t(0));
  if (!a.rest.empty()) {
    RLDB_TRY(Dims given, rest_as_integers(a.rest, "an axis"));
    RLDB_TRY(order, axes_of(Value::of_shape(std::move(given)), rank));
    if (order.size() != rank)
      return fail(ErrorKind::ShapeMismatch, fmt::format("{} axes for a tensor of rank {}", order.size(), rank));
  }
  RLDB_TRY(Ref<Tensor> out, transposed(*t, order));
  return Value(std::move(out));
}

Result<Value> function_Flatten(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  RLDB_TRY(Ref<Tensor> out, reshaped(t, {t->element_count()}));
  return Value(std::move(out));
}

Result<Value> function_Squeeze(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> t, as_tensor(a[0]));
  RLDB_TRY(const std::vector<std::size_t> axes, axes_of(a[1], t->shape().size()));
  Dims shape;
  for (std::size_t d = 0; d < t->shape().size(); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (named && a.given(1) && t->shape()[d] != 1)
      return fail(ErrorKind::ShapeMismatch, fmt::format("dimension {} is {}, not 1", d, t->shape()[d]));
    if (!named || t->shape()[d] != 1) shape.push_back(t->shape()[d]);
  }
  RLDB_TRY(Ref<Tensor> out, reshaped(t, std::move(shape)));
  return Value(std::move(out));
}

Result<Value> function_Item(const Arguments& a) { return number_of(a[0]); }

Result<Value> function_Len(const Arguments& a) {
  const Value& v = a[0];
  if (v.is(ValueKind::Tuple)) return Value::of_int(std::int64_t(v.as_tuple().fields.size()));
  if (v.is(ValueKind::Shape)) return Value::of_int(std::int64_t(v.as_shape().size()));
  if (v.is(ValueKind::String)) return Value::of_int(std::int64_t(v.as_string().size()));
  if (v.is(ValueKind::Tensor) && v.as_tensor().ndim() > 0) return Value::of_int(v.as_tensor().shape()[0]);
  return fail(ErrorKind::TypeMismatch, fmt::format("{} has no length", runtime::describe(v)));
}

}  // namespace rldb::expression
