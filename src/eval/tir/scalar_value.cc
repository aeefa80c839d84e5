// Scalar arithmetic in every dtype: rounding, wrapping, conversions, TVM's divisions.
#include "eval/tir/scalar_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace rldb::eval {

using ir::BinaryKind;

std::int64_t wrap(std::int64_t value, DType t) {
  if (t.is_bool()) return value != 0;
  if (t.bits >= 64 || t.bits == 0 || t.is_handle()) return value;
  const int shift = 64 - t.bits;
  const auto up = std::uint64_t(value) << shift;
  return t.is_uint() ? std::int64_t(up >> shift) : std::int64_t(up) >> shift;
}

double round_to(double value, DType t) {
  if (t.code == runtime::TypeCode::Float && t.bits == 64) return value;
  if (t.code == runtime::TypeCode::Float && t.bits == 32) return double(float(value));
  alignas(8) std::byte bytes[8] = {};
  runtime::store_double(bytes, t.element(), value);
  return runtime::load_as_double(bytes, t.element());
}

namespace {

// Out-of-range and NaN conversions are undefined in C++; here they saturate like the hardware's vector conversion.
std::int64_t to_integer(double v, DType t) {
  if (std::isnan(v)) return 0;
  if (t.is_uint() && t.bits == 64) {
    if (v >= 18446744073709551615.0) return -1;
    return v <= 0 ? 0 : std::int64_t(std::uint64_t(v));
  }
  if (v >= 9223372036854775807.0) return INT64_MAX;
  if (v <= -9223372036854775808.0) return INT64_MIN;
  return std::int64_t(v);
}

double as_double(Scalar v, DType t) {
  if (t.is_float()) return v.f;
  return t.is_uint() && t.bits == 64 ? double(std::uint64_t(v.i)) : double(v.i);
}

}  // namespace

Scalar convert(Scalar v, DType from, DType to) {
  if (to.is_float()) return of_float(round_to(as_double(v, from), to));
  if (to.is_bool()) return of_int(from.is_float() ? v.f != 0 : v.i != 0);
  if (from.is_float()) return of_int(wrap(to_integer(v.f, to), to));
  return of_int(wrap(v.i, to));
}

Scalar load(const void* data, DType t) {
  if (t.is_float()) return of_float(runtime::load_as_double(data, t));
  if (t.is_handle()) {
    std::int64_t bits = 0;
    std::memcpy(&bits, data, sizeof bits);
    return of_int(bits);
  }
  return of_int(runtime::load_as_int(data, t));
}

void store(void* data, DType t, Scalar v) {
  if (t.is_float())
    runtime::store_double(data, t, v.f);
  else if (t.is_handle())
    std::memcpy(data, &v.i, sizeof v.i);
  else
    runtime::store_int(data, t, v.i);
}

std::string to_text(Scalar v, DType t) {
  if (t.is_float()) return fmt::format("{}", v.f);
  if (t.is_bool()) return v.i ? "True" : "False";
  if (t.is_uint()) return fmt::format("{}", std::uint64_t(v.i));
  return fmt::format("{}", v.i);
}

namespace {

runtime::Result<Scalar> float_binary(BinaryKind kind, double a, double b, DType t) {
  const auto rounded = [&](double v) { return of_float(round_to(v, t)); };
  switch (kind) {
    case BinaryKind::Add:
      return rounded(a + b);
    case BinaryKind::Sub:
      return rounded(a - b);
    case BinaryKind::Mul:
      return rounded(a * b);
    case BinaryKind::Div:
      return rounded(a / b);
    case BinaryKind::Mod:
      return rounded(std::fmod(a, b));
    case BinaryKind::FloorDiv:
      return rounded(std::floor(a / b));
    case BinaryKind::FloorMod:
      return rounded(a - std::floor(a / b) * b);
    // TVM lowers min and max of floats to a compare and a select: the second operand wins when one is NaN.
    case BinaryKind::Min:
      return of_float(a < b ? a : b);
    case BinaryKind::Max:
      return of_float(a > b ? a : b);
    case BinaryKind::EQ:
      return of_int(a == b);
    case BinaryKind::NE:
      return of_int(a != b);
    case BinaryKind::LT:
      return of_int(a < b);
    case BinaryKind::LE:
      return of_int(a <= b);
    case BinaryKind::GT:
      return of_int(a > b);
    case BinaryKind::GE:
      return of_int(a >= b);
    case BinaryKind::And:
    case BinaryKind::Or:
      break;
  }
  return runtime::fail(runtime::ErrorKind::Unsupported, "a logical operator on floats");
}

runtime::Result<Scalar> divide(BinaryKind kind, std::int64_t a, std::int64_t b, DType t) {
  if (b == 0) return runtime::fail(runtime::ErrorKind::Raised, "integer division by zero");
  if (t.is_uint()) {
    const auto ua = std::uint64_t(a), ub = std::uint64_t(b);
    const bool remainder = kind == BinaryKind::Mod || kind == BinaryKind::FloorMod;
    return of_int(std::int64_t(remainder ? ua % ub : ua / ub));
  }
  if (kind == BinaryKind::FloorDiv) return of_int(wrap(floor_div(a, b), t));
  if (kind == BinaryKind::FloorMod) return of_int(floor_mod(a, b));
  if (b == -1) return of_int(kind == BinaryKind::Mod ? 0 : wrap(std::int64_t(0 - std::uint64_t(a)), t));
  return of_int(kind == BinaryKind::Mod ? a % b : wrap(a / b, t));
}

runtime::Result<Scalar> int_binary(BinaryKind kind, std::int64_t a, std::int64_t b, DType t) {
  const auto ua = std::uint64_t(a), ub = std::uint64_t(b);
  const bool less = t.is_uint() ? ua < ub : a < b;
  switch (kind) {
    case BinaryKind::Add:
      return of_int(wrap(std::int64_t(ua + ub), t));
    case BinaryKind::Sub:
      return of_int(wrap(std::int64_t(ua - ub), t));
    case BinaryKind::Mul:
      return of_int(wrap(std::int64_t(ua * ub), t));
    case BinaryKind::Div:
    case BinaryKind::Mod:
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod:
      return divide(kind, a, b, t);
    case BinaryKind::Min:
      return of_int(less ? a : b);
    case BinaryKind::Max:
      return of_int(less ? b : a);
    case BinaryKind::EQ:
      return of_int(a == b);
    case BinaryKind::NE:
      return of_int(a != b);
    case BinaryKind::LT:
      return of_int(less);
    case BinaryKind::LE:
      return of_int(less || a == b);
    case BinaryKind::GT:
      return of_int(!less && a != b);
    case BinaryKind::GE:
      return of_int(!less);
    case BinaryKind::And:
      return of_int(a != 0 && b != 0);
    case BinaryKind::Or:
      return of_int(a != 0 || b != 0);
  }
  RLDB_UNREACHABLE("every binary kind has its case");
}

}  // namespace

runtime::Result<Scalar> binary(BinaryKind kind, Scalar a, Scalar b, DType t) {
  return t.is_float() ? float_binary(kind, a.f, b.f, t) : int_binary(kind, a.i, b.i, t);
}

}  // namespace rldb::eval
