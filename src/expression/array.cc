// Arithmetic of numbers and tensors: promotion, broadcasting, elementwise operators, reductions.
#include "rldb/expression/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "rldb/runtime/device_error.h"

namespace rldb::expression {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::TypeCode;
using runtime::Value;
using runtime::ValueKind;
using support::Ref;

bool is_number(const Value& v) { return v.is(ValueKind::Int) || v.is(ValueKind::Bool) || v.is(ValueKind::Float); }
double as_double(const Value& v) { return v.is(ValueKind::Float) ? v.as_float() : double(v.as_int()); }

// ---- lists ----

namespace {

DType dtype_of_number(const Value& v) {
  if (v.is(ValueKind::Bool)) return DType::Bool();
  return v.is(ValueKind::Float) ? DType::Float(64) : DType::Int(64);
}

// The shape and dtype of nested lists; all lists at one depth must agree.
Result<support::Unit> form_of(const Value& v, std::size_t depth, Dims& shape, DType& dtype, bool& first) {
  support::poll();
  constexpr std::size_t kMaxRank = 32;
  if (v.is(ValueKind::Tuple) && depth < kMaxRank) {
    const auto& fields = v.as_tuple().fields;
    if (first) shape.push_back(std::int64_t(fields.size()));
    if (depth >= shape.size() || shape[depth] != std::int64_t(fields.size()))
      return fail(ErrorKind::ShapeMismatch, "the lists in this list differ in length");
    for (const Value& field : fields) RLDB_TRY_VOID(form_of(field, depth + 1, shape, dtype, first));
    if (fields.empty()) first = false;
    return support::Unit{};
  }
  const bool element = v.is(ValueKind::Tensor) && v.as_tensor().ndim() == 0;
  if (!is_number(v) && !element)
    return fail(ErrorKind::TypeMismatch, fmt::format("{} cannot be in a list of numbers", runtime::describe(v)));
  if (depth != shape.size()) return fail(ErrorKind::ShapeMismatch, "the lists in this list differ in length");
  const DType own = element ? v.as_tensor().dtype() : dtype_of_number(v);
  dtype = first ? own : promote(dtype, own);
  first = false;
  return support::Unit{};
}

void fill(const Value& v, Tensor& t, std::int64_t& at) {
  if (v.is(ValueKind::Tuple)) {
    for (const Value& field : v.as_tuple().fields) fill(field, t, at);
    return;
  }
  if (v.is(ValueKind::Tensor) ? v.as_tensor().dtype().is_float() : v.is(ValueKind::Float)) {
    const double number = v.is(ValueKind::Tensor) ? v.as_tensor().at(0) : v.as_float();
    store(t, at++, 1, &number);
    return;
  }
  std::int64_t number = v.as_int();
  if (v.is(ValueKind::Tensor)) load(v.as_tensor(), 0, 0, 1, &number);
  if (t.dtype().is_float()) {
    const double real = double(number);
    store(t, at++, 1, &real);
  } else {
    store(t, at++, 1, &number);
  }
}

}  // namespace

Result<Value> tensor_of_list(const Value& list) {
  Dims shape;
  DType dtype = DType::Float(64);
  bool first = true;
  RLDB_TRY_VOID(form_of(list, 0, shape, dtype, first));
  RLDB_TRY(Ref<Tensor> t, Tensor::empty(shape, dtype));
  std::int64_t at = 0;
  fill(list, *t, at);
  return Value(std::move(t));
}

Result<Value> as_array(const Value& v) {
  if (is_number(v)) return v;
  if (v.is(ValueKind::Tensor)) {
    const DType t = v.as_tensor().dtype();
    if (t.is_scalar() && (t.is_integral() || t.is_float())) {
      RLDB_TRY_VOID(runtime::read_back(*v.as_tensor().storage()));
      return v;
    }
  }
  if (v.is(ValueKind::Shape)) {
    std::vector<Value> fields;
    for (const std::int64_t d : v.as_shape()) fields.push_back(Value::of_int(d));
    RLDB_TRY(Ref<Tensor> t, Tensor::empty({std::int64_t(fields.size())}, DType::Int(64)));
    store(*t, 0, std::int64_t(fields.size()), v.as_shape().data());
    return Value(std::move(t));
  }
  if (v.is(ValueKind::Tuple)) return tensor_of_list(v);
  return fail(ErrorKind::TypeMismatch,
              fmt::format("{} is neither a number nor a tensor of numbers", runtime::describe(v)));
}

Result<Ref<Tensor>> as_tensor(const Value& v) {
  RLDB_TRY(const Value array, as_array(v));
  if (array.is(ValueKind::Tensor)) return array.tensor_ref();
  RLDB_TRY(Ref<Tensor> t, Tensor::empty({}, dtype_of_number(array)));
  std::int64_t at = 0;
  fill(array, *t, at);
  return t;
}

// ---- dtypes ----

namespace {

DType signed_for(int unsigned_bits) { return DType::Int(unsigned_bits < 8 ? 8 : 2 * unsigned_bits); }

DType promote_integers(DType a, DType b) {
  if (a.is_int() == b.is_int()) return a.bits >= b.bits ? a : b;
  const DType with_sign = a.is_int() ? a : b, without = a.is_int() ? b : a;
  if (with_sign.bits > without.bits) return with_sign;
  return without.bits >= 64 ? DType::Float(64) : signed_for(without.bits);
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b || b.is_bool()) return a;
  if (a.is_bool()) return b;
  if (a.is_integral() && b.is_integral()) return promote_integers(a, b);
  if (a.is_integral()) std::swap(a, b);
  if (b.is_integral()) {
    const DType wanted = b.bits > 16 ? DType::Float(64) : b.bits > 8 ? DType::Float(32) : DType::Float(16);
    if (b.bits <= 8 && a.bits >= 16) return a;
    return a.bits >= wanted.bits && a.bits >= 32 ? a : wanted.bits >= 32 ? wanted : DType::Float(32);
  }
  // Two float formats. Formats of the same size hold different numbers; float32 holds them all.
  if (a.bits == b.bits) return DType::Float(32);
  return a.bits > b.bits ? a : b;
}

DType float_of(DType t) {
  if (t.is_float()) return t;
  return t.bits <= 8 ? DType::Float(16) : t.bits <= 16 ? DType::Float(32) : DType::Float(64);
}

namespace {

Result<support::Unit> check_fits(std::int64_t v, DType t) {
  if (t.is_float() || t.is_bool()) return support::Unit{};
  const int bits = t.bits;
  const bool fits = t.is_uint()
                        ? v >= 0 && (bits >= 63 || v < std::int64_t(1) << bits)
                        : bits >= 64 || (v >= -(std::int64_t(1) << (bits - 1)) && v < std::int64_t(1) << (bits - 1));
  if (fits) return support::Unit{};
  return fail(ErrorKind::TypeMismatch, fmt::format("{} does not fit in {}", v, runtime::to_string(t)));
}

}  // namespace

Result<DType> common_dtype(std::span<const Value> operands) {
  DType dtype = DType::Bool();
  bool tensor = false;
  for (const Value& v : operands) {
    if (!v.is(ValueKind::Tensor)) continue;
    dtype = tensor ? promote(dtype, v.as_tensor().dtype()) : v.as_tensor().dtype();
    tensor = true;
  }
  for (const Value& v : operands)
    if (v.is(ValueKind::Float) && !dtype.is_float()) dtype = DType::Float(64);
  for (const Value& v : operands)
    if (v.is(ValueKind::Int) && dtype.is_bool()) dtype = DType::Int(64);
  for (const Value& v : operands)
    if (v.is(ValueKind::Int)) RLDB_TRY_VOID(check_fits(v.as_int(), dtype));
  return dtype;
}

// ---- elements ----

namespace {

template <class Element, class C>
void load_as(const Tensor& t, std::int64_t at, std::int64_t step, std::int64_t count, C* out) {
  const auto* from = reinterpret_cast<const Element*>(t.peek()) + at;
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<C>(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<C>(from[i * step]);
  }
}

template <class Element, class C>
void store_as(Tensor& t, std::int64_t at, std::int64_t count, const C* in) {
  auto* to = reinterpret_cast<Element*>(t.data()) + at;
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Element>(in[i]);
}

bool aligned(const Tensor& t) {
  return reinterpret_cast<std::uintptr_t>(t.address()) % std::max<std::size_t>(t.dtype().bytes(), 1) == 0;
}

// False: the elements are not integers of whole bytes, each by itself.
template <class C>
bool load_integers(const Tensor& t, std::int64_t at, std::int64_t step, std::int64_t count, C* out) {
  const DType type = t.dtype();
  if (!aligned(t)) return false;
  if (type == DType::Int(64)) return load_as<std::int64_t>(t, at, step, count, out), true;
  if (type == DType::Int(32)) return load_as<std::int32_t>(t, at, step, count, out), true;
  if (type == DType::Int(16)) return load_as<std::int16_t>(t, at, step, count, out), true;
  if (type == DType::Int(8)) return load_as<std::int8_t>(t, at, step, count, out), true;
  if (type == DType::UInt(32)) return load_as<std::uint32_t>(t, at, step, count, out), true;
  if (type == DType::UInt(16)) return load_as<std::uint16_t>(t, at, step, count, out), true;
  if (type == DType::UInt(8)) return load_as<std::uint8_t>(t, at, step, count, out), true;
  return false;
}

std::int64_t truncated(double v) {
  constexpr double kLimit = 9223372036854775808.0;
  return v >= -kLimit && v < kLimit ? std::int64_t(v) : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

void load(const Tensor& t, std::int64_t at, std::int64_t step, std::int64_t count, double* out) {
  const DType type = t.dtype();
  if (aligned(t) && type == DType::Float(32)) return load_as<float>(t, at, step, count, out);
  if (aligned(t) && type == DType::Float(64)) return load_as<double>(t, at, step, count, out);
  if (load_integers(t, at, step, count, out)) return;
  for (std::int64_t i = 0; i < count; ++i) out[i] = t.at(at + i * step);
}

void load(const Tensor& t, std::int64_t at, std::int64_t step, std::int64_t count, std::int64_t* out) {
  const DType type = t.dtype();
  if (load_integers(t, at, step, count, out)) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = at + i * step;
    out[i] = type.is_integral() ? runtime::load_as_int(t.peek() + std::size_t(from) * type.bytes(), type)
                                : truncated(t.at(from));
  }
}

void store(Tensor& t, std::int64_t at, std::int64_t count, const double* in) {
  const DType type = t.dtype();
  if (aligned(t) && type == DType::Float(32)) return store_as<float>(t, at, count, in);
  if (aligned(t) && type == DType::Float(64)) return store_as<double>(t, at, count, in);
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* to = t.data() + std::size_t(at + i) * type.bytes();
    if (type.is_float())
      runtime::store_double(to, type, in[i]);
    else
      runtime::store_int(to, type, type.is_bool() ? in[i] != 0 : truncated(in[i]));
  }
}

void store(Tensor& t, std::int64_t at, std::int64_t count, const std::int64_t* in) {
  const DType type = t.dtype();
  if (aligned(t) && type == DType::Int(64)) return store_as<std::int64_t>(t, at, count, in);
  if (type == DType::Bool()) {
    for (std::int64_t i = 0; i < count; ++i) t.data()[at + i] = std::byte(in[i] != 0);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* to = t.data() + std::size_t(at + i) * type.bytes();
    if (type.is_float())
      runtime::store_double(to, type, double(in[i]));
    else
      runtime::store_int(to, type, in[i]);
  }
}

Result<Ref<Tensor>> cast(const Tensor& t, DType to) {
  RLDB_TRY(Ref<Tensor> out, Tensor::empty(t.shape(), to));
  const std::int64_t count = t.element_count();
  const bool integral = t.dtype().is_integral() && to.is_integral();
  double reals[kChunk];
  std::int64_t integers[kChunk];
  for (std::int64_t at = 0; at < count; at += kChunk) {
    support::poll();
    const std::int64_t n = std::min(kChunk, count - at);
    if (integral) {
      load(t, at, 1, n, integers);
      store(*out, at, n, integers);
    } else {
      load(t, at, 1, n, reals);
      store(*out, at, n, reals);
    }
  }
  return out;
}

namespace {

Result<support::Unit> check_fits(double v, DType t) {
  if (t.is_bool()) return support::Unit{};
  const double whole = std::trunc(v);
  const int bits = t.is_uint() ? t.bits : t.bits - 1;
  const double end = std::ldexp(1.0, bits);
  const bool fits = t.is_uint() ? whole >= 0 && whole < end : whole >= -end && whole < end;  // false for NaN
  if (fits) return support::Unit{};
  return fail(ErrorKind::TypeMismatch, fmt::format("{} does not fit in {}", v, runtime::to_string(t)));
}

// Of float formats: whether a number became infinite or NaN.
Result<support::Unit> check_finite(const double* given, const double* stored, std::int64_t count, DType t) {
  for (std::int64_t i = 0; i < count; ++i)
    if (std::isfinite(given[i]) && !std::isfinite(stored[i]))
      return fail(ErrorKind::TypeMismatch, fmt::format("{} does not fit in {}", given[i], runtime::to_string(t)));
  return support::Unit{};
}

}  // namespace

Result<Ref<Tensor>> cast_in_range(const Tensor& t, DType to) {
  const std::int64_t count = t.element_count();
  double reals[kChunk], stored[kChunk];
  std::int64_t integers[kChunk];
  const auto chunks = [&](const auto& check) -> Result<support::Unit> {
    for (std::int64_t at = 0; at < count; at += kChunk) {
      support::poll();
      RLDB_TRY_VOID(check(at, std::min(kChunk, count - at)));
    }
    return support::Unit{};
  };
  if (to.is_integral()) {
    RLDB_TRY_VOID(chunks([&](std::int64_t at, std::int64_t n) -> Result<support::Unit> {
      if (t.dtype().is_integral()) {
        load(t, at, 1, n, integers);
        for (std::int64_t i = 0; i < n; ++i) RLDB_TRY_VOID(check_fits(integers[i], to));
      } else {
        load(t, at, 1, n, reals);
        for (std::int64_t i = 0; i < n; ++i) RLDB_TRY_VOID(check_fits(reals[i], to));
      }
      return support::Unit{};
    }));
    return cast(t, to);
  }
  RLDB_TRY(Ref<Tensor> out, cast(t, to));
  RLDB_TRY_VOID(chunks([&](std::int64_t at, std::int64_t n) {
    load(t, at, 1, n, reals);
    load(*out, at, 1, n, stored);
    return check_finite(reals, stored, n, to);
  }));
  return out;
}

Result<Ref<Tensor>> plain_numbers_as(const Ref<Tensor>& t, DType wanted) {
  const DType own = t->dtype();
  const bool plain = own.is_bool() || own == DType::Int(64) || own == DType::Float(64);
  if (own == wanted || !plain || !wanted.is_scalar() || wanted.is_void() || wanted.is_handle()) return t;
  const auto refused = [&](std::string_view what) {
    return fail(ErrorKind::TypeMismatch, fmt::format("{} as `{}` needs", what, to_string(wanted)));
  };
  if (own.is_float() && wanted.is_integral())
    for (std::int64_t i = 0; i < t->element_count(); ++i)
      if (const double v = t->at(i); v != std::trunc(v))  // NaN too
        return refused(fmt::format("{} is not a whole number,", v));
  if (wanted.is_bool())
    for (std::int64_t i = 0; i < t->element_count(); ++i)
      if (t->at(i) != 0 && t->at(i) != 1) return refused(fmt::format("{} is neither 0 nor 1,", t->at(i)));
  return cast_in_range(*t, wanted);
}

// ---- shapes ----

Result<Broadcast> Broadcast::of(std::span<const Dims* const> shapes) {
  Broadcast b;
  std::size_t rank = 0;
  for (const Dims* s : shapes) rank = std::max(rank, s->size());
  b.shape_.assign(rank, 1);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Dims& s = *shapes[k];
    for (std::size_t d = 0; d < s.size(); ++d) {
      std::int64_t& wanted = b.shape_[rank - s.size() + d];
      if (s[d] == 1 || s[d] == wanted) continue;
      if (wanted != 1) {
        return fail(ErrorKind::ShapeMismatch,
                    fmt::format("shapes ({}) and ({}) do not match: dimension {} is {} and {}",
                                fmt::join(*shapes[0], ", "), fmt::join(s, ", "), rank - s.size() + d, wanted, s[d]));
      }
      wanted = s[d];
    }
  }
  for (const std::int64_t d : b.shape_)
    if (d == 0 || __builtin_mul_overflow(b.count_, d, &b.count_)) {
      const bool empty = std::find(b.shape_.begin(), b.shape_.end(), 0) != b.shape_.end();
      b.count_ = empty ? 0 : std::numeric_limits<std::int64_t>::max();  // no tensor is that large
      break;
    }
  for (const Dims* s : shapes) {
    Dims strides(rank, 0);
    std::int64_t stride = 1;
    for (std::size_t d = s->size(); d-- > 0;) {
      strides[rank - s->size() + d] = (*s)[d] == 1 ? 0 : stride;
      stride *= (*s)[d];
    }
    b.strides_.push_back(std::move(strides));
  }
  // Merges adjacent dimensions that every operand traverses as if they were one.
  b.dims_ = b.shape_;
  for (std::size_t d = rank; d-- > 1;) {
    const bool joins = std::all_of(b.strides_.begin(), b.strides_.end(), [&](const Dims& s) {
      return b.dims_[d - 1] == 1 || b.dims_[d] == 1 || s[d - 1] == s[d] * b.dims_[d];
    });
    if (!joins) continue;
    for (Dims& s : b.strides_) {
      if (b.dims_[d] == 1) s[d] = s[d - 1];
      s.erase(s.begin() + std::ptrdiff_t(d - 1));
    }
    b.dims_[d] *= b.dims_[d - 1];
    b.dims_.erase(b.dims_.begin() + std::ptrdiff_t(d - 1));
  }
  return b;
}

}  // namespace rldb::expression
