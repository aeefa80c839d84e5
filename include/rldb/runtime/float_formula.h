// The elementary functions of float32, written once for both engines: the evaluator computes with them
// (float_function.h), the JIT emits them as instructions on vectors. Each is a template over the operations of an
// engine, O. Every operation is exactly rounded (IEEE 754), fused where it says `fma`, and the order is as written, so
// the engines agree to the bit; nothing may be contracted or reassociated. Users: runtime, codegen_llvm.
//
// O has the types F (float32), I (int32), D (float64), L (int64), M (a truth value for each lane), and
//   f(v), i(v), d(v), l(v)                        constants
//   add, sub, mul, div, fma, neg, abs, trunc      of floats; copysign(size, sign)
//   less, equal                                   ordered: false for NaN; both, either, negated of truth values
//   select(M, a, b)                               of floats
//   bits, floating                                the same bits as an integer, as a float
//   plus, minus, bit_and, shl, sar                of integers, which wrap
//   number(I), number(L)                          conversion to the float of that width, exact for |n| < 2^23
//   wide(F), narrow(D)                            conversion to double, and rounding to float
//   odd(L, bit)                                   whether the bit is set
//   rare(M, x, function, y)                       y, where M the C library's `function` of x
//
// Errors in units in the last place, over all inputs, are stated with each function and measured by
// tests/runtime/float_function_test.cc.
#pragma once

#include <cstdint>

namespace rldb::runtime::formula {

// c[0] + x * (c[1] + x * (...)), each step fused.
template <class O, class T, class C, std::size_t N>
T polynomial(O& o, T x, const C (&c)[N]) {
  T sum = o.constant(x, c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = o.fma(sum, x, o.constant(x, c[i]));
  return sum;
}

// x = n ln 2 + r with |r| <= ln 2 / 2.
template <class O>
struct ExpParts {
  typename O::I n;
  typename O::F r;
};
inline constexpr float kRoundF = 12582912.0f;  // 1.5 * 2^23: a sum with it is rounded to an integer
inline constexpr std::int32_t kRoundBits = 0x4b400000;

template <class O>
ExpParts<O> exp_parts(O& o, typename O::F x) {
  const auto j = o.fma(x, o.f(0x1.715476p+0f), o.f(kRoundF));
  const auto k = o.sub(j, o.f(kRoundF));
  auto r = o.fma(k, o.f(-0x1.62e43p-1f), x);
  r = o.fma(k, o.f(0x1.05c61p-29f), r);
  return {o.minus(o.bits(j), o.i(kRoundBits)), r};
}

// e^r - 1 for |r| <= ln 2 / 2.
template <class O>
typename O::F exp_minus_one(O& o, typename O::F r) {
  constexpr float q[] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558bcp-5f, 0x1.1239c6p-7f, 0x1.6a4154p-10f};
  return o.fma(o.mul(r, r), polynomial(o, r, q), r);
}

// 2^n, for n in [-126, 127].
template <class O>
typename O::F power_of_two(O& o, typename O::I n) {
  return o.floating(o.shl(o.plus(n, o.i(127)), 23));
}

// y * 2^n in two steps, of which only the second rounds, for n in [-252, 254].
template <class O>
typename O::F scaled(O& o, typename O::F y, typename O::I n) {
  const auto half = o.sar(n, 1);
  return o.mul(o.mul(y, power_of_two(o, half)), power_of_two(o, o.minus(n, half)));
}

template <class O>
typename O::F clamped(O& o, typename O::F x, float low, float high) {  // NaN stays
  const auto least = o.f(low), most = o.f(high);
  x = o.select(o.less(x, least), least, x);
  return o.select(o.less(most, x), most, x);
}

// 1.02 ulp.
template <class O>
typename O::F exp(O& o, typename O::F x) {
  const auto parts = exp_parts(o, clamped(o, x, -105.0f, 89.0f));
  return scaled(o, o.add(exp_minus_one(o, parts.r), o.f(1)), parts.n);
}

// 1.0 ulp.
template <class O>
typename O::F exp2(O& o, typename O::F x) {
  constexpr float p[] = {0x1.62e43p-1f,  0x1.ebfbdcp-3f,  0x1.c6af7ap-5f,
                         0x1.3b2ddep-7f, 0x1.5f09a4p-10f, 0x1.416f22p-13f};
  x = clamped(o, x, -151.0f, 129.0f);
  const auto j = o.add(x, o.f(kRoundF));
  const auto r = o.sub(x, o.sub(j, o.f(kRoundF)));
  return scaled(o, o.fma(r, polynomial(o, r, p), o.f(1)), o.minus(o.bits(j), o.i(kRoundBits)));
}

// 1.0 ulp. x = m 2^e with m from sqrt(1/2) to sqrt(2).
template <class O>
typename O::F log(O& o, typename O::F x) {
  constexpr float p[] = {0x1.555548p-2f, -0x1.000006p-2f, 0x1.99a476p-3f,  -0x1.555c46p-3f, 0x1.233ba8p-3f,
                         -0x1.fc286p-4f, 0x1.e6bf3ap-4f,  -0x1.de02bep-4f, 0x1.147610p-4f};
  constexpr std::int32_t kRootBits = 0x3f3504f3;  // of sqrt(1/2)
  const auto denormal = o.less(x, o.f(0x1p-126f));
  const auto normal = o.select(denormal, o.mul(x, o.f(0x1p23f)), x);
  const auto above = o.minus(o.bits(normal), o.i(kRootBits));
  const auto e = o.add(o.number(o.sar(above, 23)), o.select(denormal, o.f(-23), o.f(0)));
  const auto m = o.floating(o.plus(o.bit_and(above, o.i(0x7fffff)), o.i(kRootBits)));
  const auto g = o.sub(m, o.f(1));
  const auto square = o.mul(g, g);
  auto small = o.mul(o.mul(square, g), polynomial(o, g, p));
  small = o.fma(e, o.f(-0x1.05c61p-29f), small);
  small = o.fma(square, o.f(-0.5f), small);
  auto y = o.fma(e, o.f(0x1.62e43p-1f), o.add(small, g));
  const auto inf = o.f(__builtin_inff());
  y = o.select(o.less(x, inf), y, o.add(x, x));  // infinity and NaN
  y = o.select(o.equal(x, o.f(0)), o.neg(inf), y);
  return o.select(o.less(x, o.f(0)), o.f(__builtin_nanf("")), y);
}

// 2.7 ulp. With t = e^2|x| - 1 it is t / (t + 2).
template <class O>
typename O::F tanh(O& o, typename O::F x) {
  auto size = o.abs(x);
  size = o.select(o.less(o.f(10), size), o.f(10), size);
  const auto parts = exp_parts(o, o.add(size, size));
  const auto scale = power_of_two(o, parts.n);
  const auto t = o.fma(scale, exp_minus_one(o, parts.r), o.sub(scale, o.f(1)));
  return o.copysign(o.div(t, o.add(t, o.f(2))), x);
}

// 1.5 ulp. Below 1 a polynomial, above it 1 - e^-g(|x|).
template <class O>
typename O::F erf(O& o, typename O::F x) {
  constexpr float low[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2ce6p-4f, -0x1.b7f71ap-6f,
                           0x1.53f224p-8f, -0x1.a3515ep-11f, 0x1.4771fcp-14f};
  constexpr float high[] = {0x1.07208cp-3f,  0x1.458bb4p-1f, 0x1.ae8e3ap-4f,
                            -0x1.75877ep-6f, 0x1.a1b77p-9f,  -0x1.b9be32p-13f};
  constexpr float q[] = {0x1.fffdf8p-2f, 0x1.5557bp-3f, 0x1.572beap-5f, 0x1.1063ap-7f};
  auto size = o.abs(x);
  const auto near = o.fma(x, polynomial(o, o.mul(x, x), low), x);
  const auto is_near = o.less(size, o.f(1));
  size = o.select(o.less(o.f(3.95f), size), o.f(3.95f), size);
  const auto g = o.fma(size, polynomial(o, size, high), size);
  const auto parts = exp_parts(o, o.neg(g));
  const auto r = parts.r;
  const auto e = o.mul(o.add(o.fma(o.mul(r, r), polynomial(o, r, q), r), o.f(1)), power_of_two(o, parts.n));
  return o.select(is_near, near, o.copysign(o.sub(o.f(1), e), x));
}

// 2.5 ulp where the result is normal; 0 where e^-x overflows.
template <class O>
typename O::F sigmoid(O& o, typename O::F x) {
  return o.div(o.f(1), o.add(o.f(1), exp(o, o.neg(x))));
}

// 0.51 ulp, as the following ones: they compute in double.
// The angle r = x - n pi/2, |r| <= pi/4; sine or cosine of it by n.
inline constexpr double kRoundD = 0x1.8p52;

template <class O>
typename O::F sine_of_quarter(O& o, typename O::F x, std::int64_t quarters, const char* library) {
  constexpr double sine[] = {-0x1.5555554cb1f8ap-3, 0x1.11110890702b8p-7, -0x1.a00f98e07562ep-13,
                             0x1.6cd731ef91cddp-19};
  constexpr double cosine[] = {0x1.5555554ed2b58p-5, -0x1.6c16b822d0a91p-10, 0x1.a010da0cd682ap-16,
                               -0x1.241da14d82b92p-22};
  const auto angle = o.wide(x);
  const auto j = o.fma(angle, o.d(0x1.45f306dc9c883p-1), o.d(kRoundD));
  const auto k = o.sub(j, o.d(kRoundD));
  auto r = o.fma(k, o.d(-0x1.921fb54442d18p+0), angle);
  r = o.fma(k, o.d(-0x1.1a62633145c07p-54), r);
  const auto z = o.mul(r, r);
  const auto s = o.fma(o.mul(r, z), polynomial(o, z, sine), r);
  const auto c = o.fma(o.mul(z, z), polynomial(o, z, cosine), o.fma(z, o.d(-0.5), o.d(1)));
  const auto n = o.plus(o.bits(j), o.l(quarters));
  const auto y = o.select(o.odd(n, 0), c, s);
  const auto made = o.narrow(o.select(o.odd(n, 1), o.neg(y), y));
  // The reduction is exact enough up to here.
  const auto size = o.abs(x);
  return o.rare(o.both(o.less(o.f(0x1p30f), size), o.less(size, o.f(__builtin_inff()))), x, library, made);
}
template <class O>
typename O::F sin(O& o, typename O::F x) {
  return o.select(o.equal(x, o.f(0)), x, sine_of_quarter(o, x, 0, "sinf"));
}
template <class O>
typename O::F cos(O& o, typename O::F x) {
  return sine_of_quarter(o, x, 1, "cosf");
}

// log2 of a positive double that is a float, with an absolute error of 2^-44.
template <class O>
typename O::D log2_of(O& o, typename O::D x) {
  constexpr double p[] = {0x1.71547652b824fp+1, 0x1.ec709dc5406b9p-1, 0x1.2776c28e4b467p-1,
                          0x1.a61a32faad694p-2, 0x1.47949f8ff8cf2p-2, 0x1.21bbab4f66225p-2};
  constexpr std::int64_t kRootBits = 0x3fe6a09e667f3bcd;  // of sqrt(1/2)
  const auto above = o.minus(o.bits(x), o.l(kRootBits));
  const auto m = o.floating(o.plus(o.bit_and(above, o.l(0xfffffffffffff)), o.l(kRootBits)));
  const auto s = o.div(o.sub(m, o.d(1)), o.add(m, o.d(1)));
  return o.fma(s, polynomial(o, o.mul(s, s), p), o.number(o.sar(above, 52)));
}

// 2^t as a float, for any t.
template <class O>
typename O::F exp2_of(O& o, typename O::D t) {
  constexpr double p[] = {0x1.ffffffffab9adp-1, 0x1.62e42ff116c39p-1,  0x1.ebfbe0a4f2fa5p-3,  0x1.c6b08aae4f7acp-5,
                          0x1.3b29dc149e064p-7, 0x1.5d8a7111e9012p-10, 0x1.446a438c9d9acp-13, 0x1.fe1749a31cdecp-17};
  t = o.select(o.less(t, o.d(-160)), o.d(-160), t);
  t = o.select(o.less(o.d(130), t), o.d(130), t);
  const auto j = o.add(t, o.d(kRoundD));
  const auto r = o.sub(t, o.sub(j, o.d(kRoundD)));
  const auto n = o.minus(o.bits(j), o.l(0x4338000000000000));
  return o.narrow(o.mul(polynomial(o, r, p), o.floating(o.shl(o.plus(n, o.l(1023)), 52))));
}

// The special cases are those of C's pow.
template <class O>
typename O::F pow(O& o, typename O::F x, typename O::F y) {
  const auto zero = o.f(0), one = o.f(1), inf = o.f(__builtin_inff());
  const auto size = o.abs(x);
  auto log = log2_of(o, o.wide(size));
  log = o.select(o.equal(size, zero), o.d(-__builtin_inf()), log);
  log = o.select(o.less(size, inf), log, o.wide(size));  // infinity and NaN
  auto t = o.mul(o.wide(y), log);
  t = o.select(o.both(o.equal(size, one), o.equal(o.abs(y), inf)), o.d(0), t);
  auto made = exp2_of(o, t);
  const auto whole = o.equal(o.trunc(y), y);
  const auto half = o.mul(y, o.f(0.5f));
  const auto odd = o.both(whole, o.negated(o.equal(o.trunc(half), half)));
  made = o.select(odd, o.copysign(made, x), made);
  const auto no_root = o.both(o.both(o.less(x, zero), o.less(size, inf)), o.negated(whole));
  made = o.select(no_root, o.f(__builtin_nanf("")), made);
  return o.select(o.either(o.equal(x, one), o.equal(y, zero)), one, made);
}

}  // namespace rldb::runtime::formula
