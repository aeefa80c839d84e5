#include "eval/tir/intrinsic.h"

#include <bit>
#include <cmath>
#include <unordered_map>

namespace rldb::eval {

namespace {

using Args = std::span<const Scalar>;

// float32 and narrower compute in float, as the JIT's libm calls do.
template <float (*F32)(float), double (*F64)(double)>
Scalar unary(Args a, DType t, DType) {
  if (t.bits == 64) return of_float(F64(a[0].f));
  return of_float(round_to(double(F32(float(a[0].f))), t));
}
template <float (*F32)(float, float), double (*F64)(double, double)>
Scalar two(Args a, DType t, DType) {
  if (t.bits == 64) return of_float(F64(a[0].f, a[1].f));
  return of_float(round_to(double(F32(float(a[0].f), float(a[1].f))), t));
}

float exp10_f(float v) { return std::pow(10.0f, v); }
double exp10_d(double v) { return std::pow(10.0, v); }
float rsqrt_f(float v) { return 1.0f / std::sqrt(v); }
double rsqrt_d(double v) { return 1.0 / std::sqrt(v); }
float sigmoid_f(float v) { return 1.0f / (1.0f + std::exp(-v)); }
double sigmoid_d(double v) { return 1.0 / (1.0 + std::exp(-v)); }

Scalar absolute(Args a, DType t, DType) {
  if (t.is_float()) return of_float(std::fabs(a[0].f));
  return of_int(t.is_uint() || a[0].i >= 0 ? a[0].i : wrap(std::int64_t(0 - std::uint64_t(a[0].i)), t));
}
Scalar is_nan(Args a, DType t, DType) { return of_int(t.is_float() && std::isnan(a[0].f)); }
Scalar is_inf(Args a, DType t, DType) { return of_int(t.is_float() && std::isinf(a[0].f)); }
Scalar is_finite(Args a, DType t, DType) { return of_int(!t.is_float() || std::isfinite(a[0].f)); }
Scalar popcount(Args a, DType t, DType) {
  const std::uint64_t mask = t.bits >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << t.bits) - 1;
  return of_int(std::popcount(std::uint64_t(a[0].i) & mask));
}
Scalar clz(Args a, DType t, DType) {
  const std::uint64_t mask = t.bits >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << t.bits) - 1;
  return of_int(std::countl_zero(std::uint64_t(a[0].i) & mask) - (64 - t.bits));
}
Scalar bit_and(Args a, DType t, DType) { return of_int(wrap(a[0].i & a[1].i, t)); }
Scalar bit_or(Args a, DType t, DType) { return of_int(wrap(a[0].i | a[1].i, t)); }
Scalar bit_xor(Args a, DType t, DType) { return of_int(wrap(a[0].i ^ a[1].i, t)); }
Scalar bit_not(Args a, DType t, DType) { return of_int(t.is_bool() ? std::int64_t(!a[0].i) : wrap(~a[0].i, t)); }
// Shifts by the width or more are undefined in TVM; here the count is taken modulo 64, as x86 does.
Scalar shift_left(Args a, DType t, DType) {
  return of_int(wrap(std::int64_t(std::uint64_t(a[0].i) << (a[1].i & 63)), t));
}
Scalar shift_right(Args a, DType t, DType) {
  if (t.is_uint()) return of_int(wrap(std::int64_t(std::uint64_t(a[0].i) >> (a[1].i & 63)), t));
  return of_int(wrap(a[0].i >> (a[1].i & 63), t));
}
Scalar first(Args a, DType, DType) { return a[0]; }
Scalar fma_(Args a, DType t, DType) {
  if (t.bits == 64) return of_float(std::fma(a[0].f, a[1].f, a[2].f));
  return of_float(round_to(double(std::fma(float(a[0].f), float(a[1].f), float(a[2].f))), t));
}
Scalar ldexp_(Args a, DType t, DType) { return of_float(round_to(std::ldexp(a[0].f, int(a[1].i)), t)); }

const Intrinsic kIntrinsics[] = {
    {"exp", 1, unary<std::exp, std::exp>},
    {"exp2", 1, unary<std::exp2, std::exp2>},
    {"exp10", 1, unary<exp10_f, exp10_d>},
    {"log", 1, unary<std::log, std::log>},
    {"log2", 1, unary<std::log2, std::log2>},
    {"log10", 1, unary<std::log10, std::log10>},
    {"log1p", 1, unary<std::log1p, std::log1p>},
    {"sqrt", 1, unary<std::sqrt, std::sqrt>},
    {"rsqrt", 1, unary<rsqrt_f, rsqrt_d>},
    {"tanh", 1, unary<std::tanh, std::tanh>},
    {"sigmoid", 1, unary<sigmoid_f, sigmoid_d>},
    {"erf", 1, unary<std::erf, std::erf>},
    {"sin", 1, unary<std::sin, std::sin>},
    {"cos", 1, unary<std::cos, std::cos>},
    {"tan", 1, unary<std::tan, std::tan>},
    {"asin", 1, unary<std::asin, std::asin>},
    {"acos", 1, unary<std::acos, std::acos>},
    {"atan", 1, unary<std::atan, std::atan>},
    {"sinh", 1, unary<std::sinh, std::sinh>},
    {"cosh", 1, unary<std::cosh, std::cosh>},
    {"asinh", 1, unary<std::asinh, std::asinh>},
    {"acosh", 1, unary<std::acosh, std::acosh>},
    {"atanh", 1, unary<std::atanh, std::atanh>},
    {"floor", 1, unary<std::floor, std::floor>},
    {"ceil", 1, unary<std::ceil, std::ceil>},
    // TVM rounds halves to even in both.
    {"round", 1, unary<std::nearbyint, std::nearbyint>},
    {"nearbyint", 1, unary<std::nearbyint, std::nearbyint>},
    {"trunc", 1, unary<std::trunc, std::trunc>},
    {"pow", 2, two<std::pow, std::pow>},
    {"fmod", 2, two<std::fmod, std::fmod>},
    {"atan2", 2, two<std::atan2, std::atan2>},
    {"hypot", 2, two<std::hypot, std::hypot>},
    {"copysign", 2, two<std::copysign, std::copysign>},
    {"nextafter", 2, two<std::nextafter, std::nextafter>},
    {"ldexp", 2, ldexp_},
    {"fma", 3, fma_},
    {"fabs", 1, absolute},
    {"abs", 1, absolute},
    {"isnan", 1, is_nan},
    {"isinf", 1, is_inf},
    {"isfinite", 1, is_finite},
    {"popcount", 1, popcount},
    {"clz", 1, clz},
    {"bitwise_and", 2, bit_and},
    {"bitwise_or", 2, bit_or},
    {"bitwise_xor", 2, bit_xor},
    {"bitwise_not", 1, bit_not},
    {"shift_left", 2, shift_left},
    {"shift_right", 2, shift_right},
    {"likely", 1, first},
};

}  // namespace

const Intrinsic* find_intrinsic(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const Intrinsic*> t;
    for (const Intrinsic& i : kIntrinsics) t.emplace(i.name, &i);
    return t;
  }();
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace rldb::eval
