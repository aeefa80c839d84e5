// Elementwise functions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "expression/elements_by_chunk.h"
#include "expression/form.h"
#include "expression/slices.h"
#include "expression/subscript.h"
#include "rldb/expression/array.h"
#include "rldb/expression/functions.h"
#include "rldb/expression/operator.h"

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

DType dtype_in(const Value& v) {
  if (v.is(ValueKind::Tensor)) return v.as_tensor().dtype();
  return v.is(ValueKind::Float) ? DType::Float(64) : v.is(ValueKind::Bool) ? DType::Bool() : DType::Int(64);
}

// A function that returns floats, like sqrt.
Result<Value> to_float(const Arguments& a, double (*f)(double)) {
  RLDB_TRY(const Value v, as_array(a[0]));
  return map_double(v, float_of(dtype_in(v)), f);
}

// A function that leaves integers unchanged, like floor.
Result<Value> to_whole(const Arguments& a, double (*f)(double)) {
  RLDB_TRY(const Value v, as_array(a[0]));
  return dtype_in(v).is_float() ? map_double(v, dtype_in(v), f) : Result<Value>(v);
}

// f tells about a float or a double.
template <class F>
Result<Value> test_of(const Arguments& a, F f) {
  RLDB_TRY(const Value v, as_array(a[0]));
  if (is_number(v)) return Value::of_bool(f(as_double(v)));
  const Tensor& t = v.as_tensor();
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(t.shape(), DType::Bool()));
  const std::size_t slices = slice_count(t.element_count());
  on_threads(slices, [&](std::size_t k) {
    const Slice s = slice_of(t.element_count(), k, slices, kChunk);
    each_chunk(t, s.begin, s.end, [&](const auto* e, std::int64_t n, std::int64_t at) {
      for (std::int64_t i = 0; i < n; ++i) out->data()[at + i] = std::byte(f(e[i]));
    });
  });
  return Value(std::move(out));
}

}  // namespace

Result<Value> function_Abs(const Arguments& a) {
  RLDB_TRY(const Value v, as_array(a[0]));
  if (v.is(ValueKind::Int) && v.as_int() < 0) return unary(Operator::Negative, v);
  const DType t = dtype_in(v);
  if (t.is_float()) return map_double(v, t, [](double e) { return std::fabs(e); });
  if (!t.is_int() || is_number(v)) return v;
  RLDB_TRY(const Value negative, compare(Operator::Less, v, Value::of_int(0)));
  RLDB_TRY(Value opposite, unary(Operator::Negative, v));
  return function_Where({{negative, std::move(opposite), v}, {}});
}

Result<Value> function_Sign(const Arguments& a) {
  RLDB_TRY(const Value v, as_array(a[0]));
  const auto sign = [](double e) { return std::isnan(e) ? e : double(e > 0) - double(e < 0); };
  if (v.is(ValueKind::Int)) return Value::of_int((v.as_int() > 0) - (v.as_int() < 0));
  return map_double(v, dtype_in(v), sign);
}

Result<Value> function_Sqrt(const Arguments& a) {
  return to_float(a, [](double e) { return std::sqrt(e); });
}
Result<Value> function_Exp(const Arguments& a) {
  return to_float(a, [](double e) { return std::exp(e); });
}
Result<Value> function_Log(const Arguments& a) {
  return to_float(a, [](double e) { return std::log(e); });
}
Result<Value> function_Log2(const Arguments& a) {
  return to_float(a, [](double e) { return std::log2(e); });
}
Result<Value> function_Log10(const Arguments& a) {
  return to_float(a, [](double e) { return std::log10(e); });
}
Result<Value> function_Sin(const Arguments& a) {
  return to_float(a, [](double e) { return std::sin(e); });
}
Result<Value> function_Cos(const Arguments& a) {
  return to_float(a, [](double e) { return std::cos(e); });
}
Result<Value> function_Tanh(const Arguments& a) {
  return to_float(a, [](double e) { return std::tanh(e); });
}
Result<Value> function_Floor(const Arguments& a) {
  return to_whole(a, [](double e) { return std::floor(e); });
}
Result<Value> function_Ceil(const Arguments& a) {
  return to_whole(a, [](double e) { return std::ceil(e); });
}
Result<Value> function_Trunc(const Arguments& a) {
  return to_whole(a, [](double e) { return std::trunc(e); });
}
Result<Value> function_IsNan(const Arguments& a) {
  return test_of(a, [](auto e) { return std::isnan(e); });
}
Result<Value> function_IsInf(const Arguments& a) {
  return test_of(a, [](auto e) { return std::isinf(e); });
}
Result<Value> function_IsFinite(const Arguments& a) {
  return test_of(a, [](auto e) { return std::isfinite(e); });
}

Result<Value> function_Round(const Arguments& a) {
  const auto nearest = [](double e) { return std::nearbyint(e); };  // a half rounds to even
  if (!a.given(1)) return to_whole(a, nearest);
  RLDB_TRY(const std::int64_t decimals, integer_of(a[1], "the number of decimals"));
  if (decimals < -300 || decimals > 300) return fail(ErrorKind::TypeMismatch, "that many decimals are not possible");
  RLDB_TRY(const Value v, as_array(a[0]));
  if (decimals == 0 || (!dtype_in(v).is_float() && decimals > 0)) return to_whole(a, nearest);
  const Value scale = Value::of_float(std::pow(10.0, double(std::abs(decimals))));
  // In double: a narrow float may not hold the scaled values.
  RLDB_TRY(const Value wide,
           is_number(v) ? Result<Value>(v) : function_AsType({{v, Value::of_dtype(DType::Float(64))}, {}}));
  const Operator there = decimals > 0 ? Operator::Multiply : Operator::Divide;
  const Operator back = decimals > 0 ? Operator::Divide : Operator::Multiply;
  RLDB_TRY(const Value scaled, binary(there, wide, scale));
  RLDB_TRY(const Value rounded, map_double(scaled, DType::Float(64), nearest));
  RLDB_TRY(Value result, binary(back, rounded, scale));
  constexpr double kExact = 9e18;  // beyond it the nearest may not fit int64
  if (v.is(ValueKind::Float)) return result;
  if (is_number(v)) return std::fabs(as_double(result)) < kExact ? Value::of_int(std::int64_t(as_double(result))) : v;
  return function_AsType({{std::move(result), Value::of_dtype(dtype_in(v))}, {}});
}

// ---- several operands ----

namespace {

// Whether the condition holds at these elements.
void load_condition(const Tensor& c, std::int64_t at, std::int64_t step, std::int64_t n, bool* out) {
  if (c.dtype() == DType::Bool()) {
    const std::byte* from = c.data() + at;
    for (std::int64_t i = 0; i < n; ++i) out[i] = from[i * step] != std::byte(0);
    return;
  }
  double values[kChunk];
  load(c, at, step, n, values);
  for (std::int64_t i = 0; i < n; ++i) out[i] = values[i] != 0;
}

// x where the condition holds, else y, in their common dtype; all operands are broadcast.
template <class C>
Result<Value> choose(const Tensor& condition, const Tensor& x, const Tensor& y, DType t) {
  const Dims* shapes[] = {&condition.shape(), &x.shape(), &y.shape()};
  RLDB_TRY(const Broadcast all, Broadcast::of(shapes));
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(all.shape(), t));
  runs_on_threads(all, [&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
    bool c[kChunk];
    C p[kChunk], q[kChunk];
    load_condition(condition, starts[0], steps[0], n, c);
    load(x, starts[1], steps[1], n, p);
    load(y, starts[2], steps[2], n, q);
    for (std::int64_t i = 0; i < n; ++i) p[i] = c[i] ? p[i] : q[i];
    store(*out, at, n, p);
  });
  return Value(std::move(out));
}

// The same of operands that have the dtype of the result, whose elements are moved as they are.
template <class Bits>
Result<Value> choose_bits(const Tensor& condition, const Tensor& x, const Tensor& y, DType t) {
  const Dims* shapes[] = {&condition.shape(), &x.shape(), &y.shape()};
  RLDB_TRY(const Broadcast all, Broadcast::of(shapes));
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(all.shape(), t));
  const std::byte *from_x = x.peek(), *from_y = y.peek();
  runs_on_threads(all, [&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
    bool c[kChunk];
    load_condition(condition, starts[0], steps[0], n, c);
    constexpr std::int64_t width = sizeof(Bits);
    for (std::int64_t i = 0; i < n; ++i) {
      // Both are there to be read.
      Bits p, q;
      std::memcpy(&p, from_x + (starts[1] + i * steps[1]) * width, sizeof p);
      std::memcpy(&q, from_y + (starts[2] + i * steps[2]) * width, sizeof q);
      p = c[i] ? p : q;
      std::memcpy(out->data() + (at + i) * width, &p, sizeof p);
    }
  });
  return Value(std::move(out));
}

// A few elements (a number, a row) in another dtype.
Result<Ref<Tensor>> in_dtype(Ref<Tensor> v, DType t) {
  if (v->dtype() == t || v->element_count() > kChunk) return v;
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(v->shape(), t));
  if (t.is_float()) {
    double values[kChunk];
    load(*v, 0, 1, v->element_count(), values);
    store(*out, 0, v->element_count(), values);
  } else {
    std::int64_t values[kChunk];
    load(*v, 0, 1, v->element_count(), values);
    store(*out, 0, v->element_count(), values);
  }
  return out;
}

// f(position) of each element from `begin` to `end` that holds, in order. Of booleans eight are looked at at once.
template <class F>
void each_that_holds(const Tensor& t, std::int64_t begin, std::int64_t end, F f) {
  const bool booleans = t.dtype() == DType::Bool();
  bool own[kChunk];
  for (std::int64_t at = begin; at < end && !cancelled(); at += kChunk) {
    const std::int64_t n = std::min(kChunk, end - at);
    const std::byte* c = booleans ? t.peek() + at : reinterpret_cast<const std::byte*>(own);
    if (!booleans) load_condition(t, at, 1, n, own);
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, c + i, sizeof eight);
      if (eight == 0) continue;
      for (std::int64_t k = i; k < i + 8; ++k)
        if (c[k] != std::byte(0)) f(at + k);
    }
    for (; i < n; ++i)
      if (c[i] != std::byte(0)) f(at + i);
  }
}

// How many of them hold.
std::int64_t count_that_hold(const Tensor& t, std::int64_t begin, std::int64_t end) {
  bool c[kChunk];
  std::int64_t sum = 0;
  for (std::int64_t at = begin; at < end && !cancelled(); at += kChunk) {
    const std::int64_t n = std::min(kChunk, end - at);
    load_condition(t, at, 1, n, c);
    std::int32_t here = 0;
    for (std::int64_t i = 0; i < n; ++i) here += c[i] ? 1 : 0;
    sum += here;
  }
  return sum;
}

// The indices of the elements that hold, one tensor for each dimension: counted by slices, then written.
Result<Value> places_where(const Tensor& t) {
  const std::int64_t count = t.element_count();
  const std::size_t slices = slice_count(count);
  const auto slice = [&](std::size_t k) { return slice_of(count, k, slices, kChunk); };
  std::vector<std::int64_t> first(slices + 1);
  on_threads(slices, [&](std::size_t k) { first[k + 1] = count_that_hold(t, slice(k).begin, slice(k).end); });
  for (std::size_t k = 0; k < slices; ++k) first[k + 1] += first[k];
  const std::size_t rank = t.shape().size();
  std::vector<Value> places;
  std::vector<std::int64_t*> out;
  for (std::size_t d = 0; d < rank; ++d) {
    RLDB_TRY(Ref<Tensor> line, Tensor::empty({first.back()}, DType::Int(64)));
    out.push_back(reinterpret_cast<std::int64_t*>(line->data()));
    places.emplace_back(std::move(line));
  }
  on_threads(slices, [&](std::size_t k) {
    std::int64_t to = first[k];
    if (rank == 1) return each_that_holds(t, slice(k).begin, slice(k).end, [&](std::int64_t at) { out[0][to++] = at; });
    each_that_holds(t, slice(k).begin, slice(k).end, [&](std::int64_t at) {
      for (std::size_t d = rank; d-- > 0; at /= t.shape()[d]) out[d][to] = at % t.shape()[d];
      ++to;
    });
  });
  return Value::of_tuple(std::move(places));
}

}  // namespace

Result<Value> function_Where(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> condition, as_tensor(a[0]));
  if (!a.given(1) && !a.given(2)) {
    if (condition->ndim() == 0) return fail(ErrorKind::TypeMismatch, "a single condition has no indices");
    return places_where(*condition);
  }
  if (!a.given(1) || !a.given(2)) return fail(ErrorKind::ArgumentCount, "`where` needs both values, or none");
  RLDB_TRY(const Value x, as_array(a[1]));
  RLDB_TRY(const Value y, as_array(a[2]));
  const Value both[] = {x, y};
  RLDB_TRY(const DType t, common_dtype(both));
  RLDB_TRY(Ref<Tensor> p, as_tensor(x));
  RLDB_TRY(Ref<Tensor> q, as_tensor(y));
  RLDB_TRY(p, in_dtype(std::move(p), t));
  RLDB_TRY(q, in_dtype(std::move(q), t));
  if (p->dtype() == t && q->dtype() == t && t.lanes == 1) {
    if (t.bits == 8) return choose_bits<std::uint8_t>(*condition, *p, *q, t);
    if (t.bits == 16) return choose_bits<std::uint16_t>(*condition, *p, *q, t);
    if (t.bits == 32) return choose_bits<std::uint32_t>(*condition, *p, *q, t);
    if (t.bits == 64) return choose_bits<std::uint64_t>(*condition, *p, *q, t);
  }
  return t.is_float() ? choose<double>(*condition, *p, *q, t) : choose<std::int64_t>(*condition, *p, *q, t);
}

namespace {

// Whichever of the two compares so; NaN when either is NaN.
Result<Value> extreme(const Value& x, const Value& y, Operator op) {
  RLDB_TRY(const Value first, compare(op, x, y));
  RLDB_TRY(const Value nan, compare(Operator::NotEqual, x, x));
  RLDB_TRY(Value take, binary(Operator::BitOr, first, nan));
  const bool number = is_number(x) && is_number(y);
  if (number) return take.as_int() != 0 ? x : y;
  return function_Where({{std::move(take), x, y}, {}});
}

}  // namespace

Result<Value> function_Maximum(const Arguments& a) { return extreme(a[0], a[1], Operator::Greater); }
Result<Value> function_Minimum(const Arguments& a) { return extreme(a[0], a[1], Operator::Less); }

Result<Value> function_Clip(const Arguments& a) {
  Value v = a[0];
  if (a.given(1)) {
    RLDB_TRY(v, extreme(v, a[1], Operator::Greater));
  }
  if (a.given(2)) {
    RLDB_TRY(v, extreme(v, a[2], Operator::Less));
  }
  return v;
}

namespace {

Result<Value> close_elements(const Arguments& a) {
  RLDB_TRY(const Ref<Tensor> x, as_tensor(a[0]));
  RLDB_TRY(const Ref<Tensor> y, as_tensor(a[1]));
  double rtol = 1e-5, atol = 1e-8;
  if (a.given(2)) {
    RLDB_TRY(rtol, real_of(a[2], "rtol"));
  }
  if (a.given(3)) {
    RLDB_TRY(atol, real_of(a[3], "atol"));
  }
  bool equal_nan = false;
  if (a.given(4)) {
    RLDB_TRY(equal_nan, truth(a[4]));
  }
  const Dims* shapes[] = {&x->shape(), &y->shape()};
  RLDB_TRY(const Broadcast both, Broadcast::of(shapes));
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(both.shape(), DType::Bool()));
  double p[kChunk], q[kChunk];
  both.runs([&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
    load(*x, starts[0], steps[0], n, p);
    load(*y, starts[1], steps[1], n, q);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool finite = std::isfinite(p[i]) && std::isfinite(q[i]);
      const bool nan = std::isnan(p[i]) && std::isnan(q[i]);
      const bool close = finite ? std::fabs(p[i] - q[i]) <= atol + rtol * std::fabs(q[i]) : p[i] == q[i];
      out->data()[at + i] = std::byte(close || (equal_nan && nan));
    }
  });
  return Value(std::move(out));
}

}  // namespace

Result<Value> function_IsClose(const Arguments& a) { return close_elements(a); }

Result<Value> function_AllClose(const Arguments& a) {
  RLDB_TRY(Value close, close_elements(a));
  RLDB_TRY(const Value all, function_All({{std::move(close), Value(), Value()}, {}}));
  return number_of(all);
}

Result<Value> function_Dot(const Arguments& a) {
  const auto number = [](const Value& v) { return !v.is(ValueKind::Tensor) || v.as_tensor().ndim() == 0; };
  if (number(a[0]) || number(a[1])) return binary(Operator::Multiply, a[0], a[1]);
  return matrix_product(a[0], a[1]);
}

}  // namespace rldb::expression
