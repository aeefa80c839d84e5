#include "eval/tir/scalar_value.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace rldb::eval {

using ir::NodeKind;

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

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1) return std::int64_t(0 - std::uint64_t(a));  // INT64_MIN / -1 wraps
  const std::int64_t q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

namespace {

runtime::Result<Scalar> float_binary(NodeKind kind, double a, double b, DType t) {
  const auto rounded = [&](double v) { return of_float(round_to(v, t)); };
  switch (kind) {
    case NodeKind::Add:
      return rounded(a + b);
    case NodeKind::Sub:
      return rounded(a - b);
    case NodeKind::Mul:
      return rounded(a * b);
    case NodeKind::Div:
      return rounded(a / b);
    case NodeKind::Mod:
      return rounded(std::fmod(a, b));
    case NodeKind::FloorDiv:
      return rounded(std::floor(a / b));
    case NodeKind::FloorMod:
      return rounded(a - std::floor(a / b) * b);
    // TVM lowers min and max of floats to a compare and a select: the second operand wins when one is NaN.
    case NodeKind::Min:
      return of_float(a < b ? a : b);
    case NodeKind::Max:
      return of_float(a > b ? a : b);
    case NodeKind::EQ:
      return of_int(a == b);
    case NodeKind::NE:
      return of_int(a != b);
    case NodeKind::LT:
      return of_int(a < b);
    case NodeKind::LE:
      return of_int(a <= b);
    case NodeKind::GT:
      return of_int(a > b);
    case NodeKind::GE:
      return of_int(a >= b);
    default:  // And, Or have no float form; other kinds are not binary
      return runtime::fail(runtime::ErrorKind::Unsupported, "a logical operator on floats");
  }
}

runtime::Result<Scalar> divide(NodeKind kind, std::int64_t a, std::int64_t b, DType t) {
  if (b == 0) return runtime::fail(runtime::ErrorKind::Raised, "integer division by zero");
  if (t.is_uint()) {
    const auto ua = std::uint64_t(a), ub = std::uint64_t(b);
    const bool remainder = kind == NodeKind::Mod || kind == NodeKind::FloorMod;
    return of_int(std::int64_t(remainder ? ua % ub : ua / ub));
  }
  if (kind == NodeKind::FloorDiv) return of_int(wrap(floor_div(a, b), t));
  if (kind == NodeKind::FloorMod) return of_int(floor_mod(a, b));
  if (b == -1) return of_int(kind == NodeKind::Mod ? 0 : wrap(std::int64_t(0 - std::uint64_t(a)), t));
  return of_int(kind == NodeKind::Mod ? a % b : wrap(a / b, t));
}

runtime::Result<Scalar> int_binary(NodeKind kind, std::int64_t a, std::int64_t b, DType t) {
  const auto ua = std::uint64_t(a), ub = std::uint64_t(b);
  const bool less = t.is_uint() ? ua < ub : a < b;
  switch (kind) {
    case NodeKind::Add:
      return of_int(wrap(std::int64_t(ua + ub), t));
    case NodeKind::Sub:
      return of_int(wrap(std::int64_t(ua - ub), t));
    case NodeKind::Mul:
      return of_int(wrap(std::int64_t(ua * ub), t));
    case NodeKind::Div:
    case NodeKind::Mod:
    case NodeKind::FloorDiv:
    case NodeKind::FloorMod:
      return divide(kind, a, b, t);
    case NodeKind::Min:
      return of_int(less ? a : b);
    case NodeKind::Max:
      return of_int(less ? b : a);
    case NodeKind::EQ:
      return of_int(a == b);
    case NodeKind::NE:
      return of_int(a != b);
    case NodeKind::LT:
      return of_int(less);
    case NodeKind::LE:
      return of_int(less || a == b);
    case NodeKind::GT:
      return of_int(!less && a != b);
    case NodeKind::GE:
      return of_int(!less);
    case NodeKind::And:
      return of_int(a != 0 && b != 0);
    case NodeKind::Or:
      return of_int(a != 0 || b != 0);
    default:  // other kinds are not binary
      return runtime::fail(runtime::ErrorKind::Unsupported, "an operator that is not binary");
  }
}

}  // namespace

runtime::Result<Scalar> binary(NodeKind kind, Scalar a, Scalar b, DType t) {
  return t.is_float() ? float_binary(kind, a.f, b.f, t) : int_binary(kind, a.i, b.i, t);
}

}  // namespace rldb::eval
