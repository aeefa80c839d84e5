// Operators over numbers and tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "expression/slices.h"
#include "rldb/expression/array.h"
#include "rldb/expression/operator.h"
#include "rldb/support/integer.h"

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

std::int64_t wrap_add(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) + std::uint64_t(b)); }
std::int64_t wrap_subtract(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) - std::uint64_t(b)); }
std::int64_t wrap_multiply(std::int64_t a, std::int64_t b) { return std::int64_t(std::uint64_t(a) * std::uint64_t(b)); }

// As in Python: the quotient is rounded down, the remainder has the divisor's sign.
double floor_remainder(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  if ((b < 0) != (rest < 0)) rest += b;
  return rest;
}
double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double quotient = (a - floor_remainder(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double down = std::floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}
// By zero: zero, as in NumPy (without its warning). Plain numbers are checked before.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return b == 0 ? 0 : support::floor_div(a, b); }
std::int64_t floor_remainder(std::int64_t a, std::int64_t b) { return b == 0 ? 0 : support::floor_mod(a, b); }
std::int64_t power(std::int64_t a, std::int64_t b) {
  std::int64_t result = 1;
  for (; b > 0; b >>= 1) {
    if (b & 1) result = wrap_multiply(result, a);
    a = wrap_multiply(a, a);
  }
  return result;
}

template <class C, class F>
void each(const C* a, const C* b, C* out, std::int64_t n, F f) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

void apply(Operator op, const double* a, const double* b, double* out, std::int64_t n, DType) {
  switch (op) {
    case Operator::Add:
      return each(a, b, out, n, std::plus<>());
    case Operator::Subtract:
      return each(a, b, out, n, std::minus<>());
    case Operator::Multiply:
      return each(a, b, out, n, std::multiplies<>());
    case Operator::Divide:
      return each(a, b, out, n, std::divides<>());
    case Operator::FloorDivide:
      return each(a, b, out, n, [](double p, double q) { return floor_divide(p, q); });
    case Operator::Remainder:
      return each(a, b, out, n, [](double p, double q) { return floor_remainder(p, q); });
    case Operator::Power:
      return each(a, b, out, n, [](double p, double q) { return std::pow(p, q); });
    case Operator::MatMul:
#define RLDB_BITWISE(Id, ...) case Operator::Id:
#define RLDB_COMPARISON(Id, ...) case Operator::Id:
#define RLDB_UNARY(Id, ...) case Operator::Id:
#include "rldb/expression/operator.def"
      break;
  }
  RLDB_UNREACHABLE("no operator of floats");
}

std::int64_t shift_left(std::int64_t a, std::int64_t by, int bits) {
  return by < 0 || by >= bits ? 0 : std::int64_t(std::uint64_t(a) << by);
}

void apply(Operator op, const std::int64_t* a, const std::int64_t* b, std::int64_t* out, std::int64_t n, DType t) {
  using I = std::int64_t;
  using U = std::uint64_t;
  const bool wide = t.is_uint() && t.bits == 64;  // the others fit in an int64
  switch (op) {
    case Operator::Add:
      if (t.is_bool()) return each(a, b, out, n, [](I p, I q) { return p | q; });
      return each(a, b, out, n, wrap_add);
    case Operator::Subtract:
      return each(a, b, out, n, wrap_subtract);
    case Operator::Multiply:
      return each(a, b, out, n, wrap_multiply);
    case Operator::FloorDivide:
      if (wide) return each(a, b, out, n, [](I p, I q) { return q == 0 ? 0 : I(U(p) / U(q)); });
      return each(a, b, out, n, [](I p, I q) { return floor_divide(p, q); });
    case Operator::Remainder:
      if (wide) return each(a, b, out, n, [](I p, I q) { return q == 0 ? 0 : I(U(p) % U(q)); });
      return each(a, b, out, n, [](I p, I q) { return floor_remainder(p, q); });
    case Operator::Power:
      return each(a, b, out, n, power);
    case Operator::BitOr:
      return each(a, b, out, n, std::bit_or<>());
    case Operator::BitXor:
      return each(a, b, out, n, std::bit_xor<>());
    case Operator::BitAnd:
      return each(a, b, out, n, std::bit_and<>());
    case Operator::ShiftLeft:
      return each(a, b, out, n, [&](I p, I q) { return shift_left(p, q, t.bits); });
    case Operator::ShiftRight:
      if (wide) return each(a, b, out, n, [](I p, I q) { return q < 0 || q > 63 ? 0 : I(U(p) >> q); });
      return each(a, b, out, n, [](I p, I q) { return p >> (q < 0 || q > 63 ? 63 : q); });
    case Operator::Divide:
    case Operator::MatMul:
#define RLDB_COMPARISON(Id, ...) case Operator::Id:
#define RLDB_UNARY(Id, ...) case Operator::Id:
#include "rldb/expression/operator.def"
      break;
  }
  RLDB_UNREACHABLE("no operator of integers");
}

bool is_bitwise(Operator op) {
#define RLDB_BITWISE(Id, ...) \
  if (op == Operator::Id) return true;
#include "rldb/expression/operator.def"
  return false;
}

bool truth_of_number(const Value& v) { return v.is(ValueKind::Float) ? v.as_float() != 0 : v.as_int() != 0; }

// ---- plain numbers: as in Python ----

Result<Value> numbers(Operator op, const Value& x, const Value& y) {
  const bool real = x.is(ValueKind::Float) || y.is(ValueKind::Float);
  if (is_bitwise(op) && real)
    return fail(ErrorKind::TypeMismatch, fmt::format("`{}` works on integers and booleans", to_string(op)));
  const bool divides = op == Operator::Divide || op == Operator::FloorDivide || op == Operator::Remainder;
  if (divides && !truth_of_number(y) && !real) return fail(ErrorKind::TypeMismatch, "division by zero");
  const bool root = op == Operator::Power && !real && y.as_int() < 0;  // 2 ** -1
  if (real || op == Operator::Divide || root) {
    const double a = as_double(x), b = as_double(y);
    double out = 0;
    apply(op, &a, &b, &out, 1, DType::Float(64));
    return Value::of_float(out);
  }
  const std::int64_t a = x.as_int(), b = y.as_int();
  std::int64_t out = 0;
  apply(op, &a, &b, &out, 1, DType::Int(64));
  const bool logical = x.is(ValueKind::Bool) && y.is(ValueKind::Bool) &&
                       (op == Operator::BitOr || op == Operator::BitXor || op == Operator::BitAnd);
  return logical ? Value::of_bool(out != 0) : Value::of_int(out);
}

// ---- tensors ----

struct Pair {
  Ref<Tensor> a, b;
  Broadcast shape;
};

// A number combined with a tensor is first converted to the dtype of the operation.
Result<Ref<Tensor>> operand(const Value& v, DType t) {
  if (v.is(ValueKind::Tensor)) return v.tensor_ref();
  RLDB_TRY(Ref<Tensor> one, Tensor::empty({}, t));
  if (t.is_float()) {
    const double number = as_double(v);
    store(*one, 0, 1, &number);
  } else {
    const std::int64_t number = v.as_int();
    store(*one, 0, 1, &number);
  }
  return one;
}

Result<Pair> pair_of(const Value& x, const Value& y, DType t) {
  RLDB_TRY(Ref<Tensor> a, operand(x, t));
  RLDB_TRY(Ref<Tensor> b, operand(y, t));
  const Dims* shapes[] = {&a->shape(), &b->shape()};
  RLDB_TRY(Broadcast shape, Broadcast::of(shapes));
  return Pair{std::move(a), std::move(b), std::move(shape)};
}

template <class C>
Result<Value> elementwise(Operator op, const Pair& p, DType t) {
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(p.shape.shape(), t));
  runs_on_threads(p.shape, [&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
    C a[kChunk], b[kChunk], c[kChunk];
    load(*p.a, starts[0], steps[0], n, a);
    load(*p.b, starts[1], steps[1], n, b);
    apply(op, a, b, c, n, t);
    store(*out, at, n, c);
  });
  return Value(std::move(out));
}

Result<support::Unit> refuse_negative_powers(const Tensor& t) {
  const std::int64_t count = t.element_count();
  std::int64_t values[kChunk];
  for (std::int64_t at = 0; at < count && !t.dtype().is_uint(); at += kChunk) {
    support::poll();
    const std::int64_t n = std::min(kChunk, count - at);
    load(t, at, 1, n, values);
    for (std::int64_t i = 0; i < n; ++i)
      if (values[i] < 0)
        return fail(ErrorKind::TypeMismatch, "integers have no negative powers: convert one side to float");
  }
  return support::Unit{};
}

}  // namespace

Result<Value> binary(Operator op, const Value& x, const Value& y) {
  if (op == Operator::MatMul) return matrix_product(x, y);
  if (op == Operator::Add && x.is(ValueKind::String) && y.is(ValueKind::String))
    return Value::of_string(x.as_string() + y.as_string());
  RLDB_TRY(const Value a, as_array(x));
  RLDB_TRY(const Value b, as_array(y));
  if (is_number(a) && is_number(b)) return numbers(op, a, b);
  const Value both[] = {a, b};
  RLDB_TRY(DType t, common_dtype(both));
  if (is_bitwise(op) && t.is_float())
    return fail(ErrorKind::TypeMismatch, fmt::format("`{}` works on integers and booleans", to_string(op)));
  if (op == Operator::Subtract && t.is_bool())
    return fail(ErrorKind::TypeMismatch, "booleans have no difference: `^` tells where they differ");
  if (op == Operator::Divide && !t.is_float()) t = DType::Float(64);
  const bool counts = op != Operator::Add && op != Operator::Multiply && !is_bitwise(op);
  const bool shifts = op == Operator::ShiftLeft || op == Operator::ShiftRight;
  if (t.is_bool() && (counts || shifts)) t = DType::Int(8);
  RLDB_TRY(const Pair p, pair_of(a, b, t));
  if (op == Operator::Power && !t.is_float()) RLDB_TRY_VOID(refuse_negative_powers(*p.b));
  return t.is_float() ? elementwise<double>(op, p, t) : elementwise<std::int64_t>(op, p, t);
}

// ---- comparisons ----

namespace {

template <class A, class B>
bool holds(Operator op, A a, B b) {
  if constexpr (std::is_integral_v<A>) {
    return op == Operator::Equal       ? std::cmp_equal(a, b)
           : op == Operator::NotEqual  ? std::cmp_not_equal(a, b)
           : op == Operator::Less      ? std::cmp_less(a, b)
           : op == Operator::LessEqual ? std::cmp_less_equal(a, b)
           : op == Operator::Greater   ? std::cmp_greater(a, b)
                                       : std::cmp_greater_equal(a, b);
  } else {
    return op == Operator::Equal       ? a == b
           : op == Operator::NotEqual  ? a != b
           : op == Operator::Less      ? a < b
           : op == Operator::LessEqual ? a <= b
           : op == Operator::Greater   ? a > b
                                       : a >= b;
  }
}

// One loop per operator, so that the choice is not made for every element.
template <class A, class B, class C>
void hold_all(Operator op, const C* a, const C* b, std::int64_t n, std::byte* out) {
  const auto loop = [&]<Operator kOp>() {
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::byte(holds(kOp, A(a[i]), B(b[i])));
  };
  if (op == Operator::Equal) return loop.template operator()<Operator::Equal>();
  if (op == Operator::NotEqual) return loop.template operator()<Operator::NotEqual>();
  if (op == Operator::Less) return loop.template operator()<Operator::Less>();
  if (op == Operator::LessEqual) return loop.template operator()<Operator::LessEqual>();
  if (op == Operator::Greater) return loop.template operator()<Operator::Greater>();
  return loop.template operator()<Operator::GreaterEqual>();
}

// The floats of a tensor where they are; null: they are not in a row, or not aligned.
const float* floats_of(const Tensor& t, std::int64_t at, std::int64_t step) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(t.address()) % alignof(float) == 0;
  return step == 1 && aligned ? reinterpret_cast<const float*>(t.peek()) + at : nullptr;
}

// Of two tensors of float32, which need not become doubles: a single element is repeated.
Result<Value> compare_floats(Operator op, const Pair& p) {
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(p.shape.shape(), DType::Bool()));
  runs_on_threads(p.shape, [&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
    float own[2][kChunk];
    const float* from[2];
    const Tensor* operands[] = {p.a.get(), p.b.get()};
    for (std::size_t k = 0; k < 2; ++k) {
      from[k] = floats_of(*operands[k], starts[k], steps[k]);
      if (from[k]) continue;
      double values[kChunk];
      load(*operands[k], starts[k], steps[k], n, values);
      std::copy_n(values, n, own[k]);
      from[k] = own[k];
    }
    hold_all<float, float>(op, from[0], from[1], n, out->data() + at);
  });
  return Value(std::move(out));
}

template <class C>
Result<Value> compare_elements(Operator op, const Pair& p) {
  if (p.a->dtype() == DType::Float(32) && p.b->dtype() == DType::Float(32)) return compare_floats(op, p);
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(p.shape.shape(), DType::Bool()));
  const bool a_wide = p.a->dtype() == DType::UInt(64), b_wide = p.b->dtype() == DType::UInt(64);
  runs_on_threads(p.shape, [&](std::int64_t at, const std::int64_t* starts, const std::int64_t* steps, std::int64_t n) {
    C a[kChunk], b[kChunk];
    load(*p.a, starts[0], steps[0], n, a);
    load(*p.b, starts[1], steps[1], n, b);
    std::byte* to = out->data() + at;
    using Wide = std::conditional_t<std::is_same_v<C, double>, double, std::uint64_t>;
    if (a_wide) return b_wide ? hold_all<Wide, Wide>(op, a, b, n, to) : hold_all<Wide, C>(op, a, b, n, to);
    return b_wide ? hold_all<C, Wide>(op, a, b, n, to) : hold_all<C, C>(op, a, b, n, to);
  });
  return Value(std::move(out));
}

bool is_sequence(const Value& v) { return v.is(ValueKind::Tuple) || v.is(ValueKind::Shape); }

// Shapes and tuples compare equal only as a whole.
Result<Value> compare_sequences(Operator op, const Value& x, const Value& y) {
  if (op != Operator::Equal && op != Operator::NotEqual)
    return fail(ErrorKind::TypeMismatch, "tuples and shapes compare with == and != only");
  const auto fields = [](const Value& v) {
    std::vector<Value> all;
    if (v.is(ValueKind::Tuple)) return v.as_tuple().fields;
    for (const std::int64_t d : v.as_shape()) all.push_back(Value::of_int(d));
    return all;
  };
  const std::vector<Value> a = fields(x), b = fields(y);
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i)
    same = runtime::compare(a[i], b[i], {.atol = 0, .rtol = 0, .equal_nan = false}).empty();
  return Value::of_bool(same == (op == Operator::Equal));
}

}  // namespace

Result<Value> compare(Operator op, const Value& x, const Value& y) {
  if (x.is(ValueKind::String) && y.is(ValueKind::String)) {
    if (op == Operator::Equal) return Value::of_bool(x.as_string() == y.as_string());
    if (op == Operator::NotEqual) return Value::of_bool(x.as_string() != y.as_string());
    return fail(ErrorKind::TypeMismatch, "strings compare with == and != only");
  }
  if (is_sequence(x) && is_sequence(y)) return compare_sequences(op, x, y);
  if (x.is_null() || y.is_null()) {
    if (op == Operator::Equal) return Value::of_bool(x.is_null() && y.is_null());
    if (op == Operator::NotEqual) return Value::of_bool(!(x.is_null() && y.is_null()));
  }
  RLDB_TRY(const Value a, as_array(x));
  RLDB_TRY(const Value b, as_array(y));
  if (is_number(a) && is_number(b)) {
    const bool real = a.is(ValueKind::Float) || b.is(ValueKind::Float);
    return Value::of_bool(real ? holds(op, as_double(a), as_double(b)) : holds(op, a.as_int(), b.as_int()));
  }
  const Value both[] = {a, b};
  // Integers of any two dtypes compare exactly: no common dtype is needed, and a number need not fit in one.
  const auto integral = [](const Value& v) {
    return v.is(ValueKind::Tensor) ? v.as_tensor().dtype().is_integral() : !v.is(ValueKind::Float);
  };
  if (integral(a) && integral(b)) {
    RLDB_TRY(const Pair p, pair_of(a, b, DType::Int(64)));
    return compare_elements<std::int64_t>(op, p);
  }
  RLDB_TRY(const DType t, common_dtype(both));
  RLDB_TRY(const Pair p, pair_of(a, b, t));
  return compare_elements<double>(op, p);
}

// ---- one operand ----

namespace {

Result<Value> inverted(const Value& v) {
  if (v.is(ValueKind::Int)) return Value::of_int(~v.as_int());
  if (v.is(ValueKind::Float) || v.as_tensor().dtype().is_float())
    return fail(ErrorKind::TypeMismatch, "`~` works on integers and booleans");
  const Tensor& t = v.as_tensor();
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(t.shape(), t.dtype()));
  std::int64_t values[kChunk];
  for (std::int64_t at = 0; at < t.element_count(); at += kChunk) {
    support::poll();
    const std::int64_t n = std::min(kChunk, t.element_count() - at);
    load(t, at, 1, n, values);
    for (std::int64_t i = 0; i < n; ++i) values[i] = ~values[i];
    store(*out, at, n, values);
  }
  return Value(std::move(out));
}

}  // namespace

Result<Value> unary(Operator op, const Value& x) {
  RLDB_TRY(const Value v, as_array(x));
  const bool boolean = v.is(ValueKind::Tensor) ? v.as_tensor().dtype().is_bool() : v.is(ValueKind::Bool);
  if (op == Operator::Positive) return v;
  if (op == Operator::Invert && boolean) return binary(Operator::BitXor, v, Value::of_bool(true));
  if (op == Operator::Invert) return inverted(v);
  if (is_number(v)) {
    if (v.is(ValueKind::Float)) return Value::of_float(-v.as_float());
    return Value::of_int(wrap_subtract(0, v.as_int()));
  }
  const Tensor& t = v.as_tensor();
  if (boolean) return fail(ErrorKind::TypeMismatch, "booleans have no negative: `~` is the opposite");
  if (t.dtype().is_float()) return map_double(v, t.dtype(), [](double e) { return -e; });
  return binary(Operator::Subtract, Value::of_int(0), v);
}

Result<Value> map_double(const Value& v, DType result, double (*f)(double)) {
  if (is_number(v)) return Value::of_float(f(as_double(v)));
  const Tensor& t = v.as_tensor();
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(t.shape(), result));
  const std::int64_t count = t.element_count();
  const std::size_t slices = slice_count(count);
  on_threads(slices, [&](std::size_t k) {
    double values[kChunk];
    const Slice s = slice_of(count, k, slices, kChunk);
    for (std::int64_t at = s.begin; at < s.end && !cancelled(); at += kChunk) {
      const std::int64_t n = std::min(kChunk, s.end - at);
      load(t, at, 1, n, values);
      for (std::int64_t i = 0; i < n; ++i) values[i] = f(values[i]);
      store(*out, at, n, values);
    }
  });
  return Value(std::move(out));
}

}  // namespace rldb::expression
