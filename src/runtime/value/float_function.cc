// The formulas on scalars. Compiled without contraction of products and sums (CMake sets it): `fma` is fused, nothing
// else.
#include "rldb/runtime/float_function.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "rldb/runtime/float_formula.h"

namespace rldb::runtime {

namespace {

struct ScalarFloats {
  using F = float;
  using D = double;
  using I = std::int32_t;
  using L = std::int64_t;
  using M = bool;

  static F f(float v) { return v; }
  static D d(double v) { return v; }
  static I i(std::int32_t v) { return v; }
  static L l(std::int64_t v) { return v; }
  static F constant(F, float v) { return v; }
  static D constant(D, double v) { return v; }

  template <class T>
  static T add(T a, T b) {
    return a + b;
  }
  template <class T>
  static T sub(T a, T b) {
    return a - b;
  }
  template <class T>
  static T mul(T a, T b) {
    return a * b;
  }
  template <class T>
  static T div(T a, T b) {
    return a / b;
  }
  template <class T>
  static T fma(T a, T b, T c) {
    return std::fma(a, b, c);
  }
  template <class T>
  static T neg(T a) {
    return -a;
  }
  template <class T>
  static T abs(T a) {
    return std::fabs(a);
  }
  template <class T>
  static T trunc(T a) {
    return std::trunc(a);
  }
  static D sqrt(D a) { return std::sqrt(a); }
  template <class T>
  static T copysign(T a, T b) {
    return std::copysign(a, b);
  }
  template <class T>
  static M less(T a, T b) {
    return a < b;
  }
  template <class T>
  static M equal(T a, T b) {
    return a == b;
  }
  static M both(M a, M b) { return a && b; }
  static M either(M a, M b) { return a || b; }
  static M negated(M a) { return !a; }
  template <class T>
  static T select(M m, T a, T b) {
    return m ? a : b;
  }

  static I bits(F v) { return std::bit_cast<I>(v); }
  static L bits(D v) { return std::bit_cast<L>(v); }
  static F floating(I v) { return std::bit_cast<F>(v); }
  static D floating(L v) { return std::bit_cast<D>(v); }
  static I plus(I a, I b) { return I(std::uint32_t(a) + std::uint32_t(b)); }
  static L plus(L a, L b) { return L(std::uint64_t(a) + std::uint64_t(b)); }
  static I minus(I a, I b) { return I(std::uint32_t(a) - std::uint32_t(b)); }
  static L minus(L a, L b) { return L(std::uint64_t(a) - std::uint64_t(b)); }
  template <class T>
  static T bit_and(T a, T b) {
    return a & b;
  }
  static I shl(I a, int n) { return I(std::uint32_t(a) << n); }
  static L shl(L a, int n) { return L(std::uint64_t(a) << n); }
  template <class T>
  static T sar(T a, int n) {
    return a >> n;
  }
  static F number(I v) { return float(v); }
  static D number(L v) { return double(v); }
  static D wide(F v) { return double(v); }
  static F narrow(D v) { return float(v); }
  static M odd(L v, int bit) { return (v >> bit & 1) != 0; }
  static F rare(M m, F x, std::string_view function, F y) {
    if (!m) return y;
    return function == "sinf" ? std::sin(x) : function == "cosf" ? std::cos(x) : std::tan(x);
  }
};

}  // namespace

#define RLDB_FLOAT_FUNCTION(name) \
  float name##_f32(float x) {     \
    ScalarFloats o;               \
    return formula::name(o, x);   \
  }
RLDB_FLOAT_FUNCTION(exp)
RLDB_FLOAT_FUNCTION(exp2)
RLDB_FLOAT_FUNCTION(log)
RLDB_FLOAT_FUNCTION(tanh)
RLDB_FLOAT_FUNCTION(erf)
RLDB_FLOAT_FUNCTION(sigmoid)
RLDB_FLOAT_FUNCTION(sin)
RLDB_FLOAT_FUNCTION(cos)
RLDB_FLOAT_FUNCTION(tan)
RLDB_FLOAT_FUNCTION(atan)
RLDB_FLOAT_FUNCTION(asin)
RLDB_FLOAT_FUNCTION(acos)
RLDB_FLOAT_FUNCTION(asinh)
RLDB_FLOAT_FUNCTION(acosh)
RLDB_FLOAT_FUNCTION(sinh)
RLDB_FLOAT_FUNCTION(cosh)
RLDB_FLOAT_FUNCTION(atanh)
RLDB_FLOAT_FUNCTION(log2)
RLDB_FLOAT_FUNCTION(log10)
RLDB_FLOAT_FUNCTION(log1p)
#undef RLDB_FLOAT_FUNCTION

float atan2_f32(float y, float x) {
  ScalarFloats o;
  return formula::atan2(o, y, x);
}
float pow_f32(float x, float y) {
  ScalarFloats o;
  return formula::pow(o, x, y);
}

}  // namespace rldb::runtime
