// The elementary functions of float32, written once for both engines: the evaluator computes with them
// (float_function.h), the JIT emits them as instructions on vectors. Each is a template over the operations of an
// engine, O. Every operation is exactly rounded (IEEE 754), fused where it says `fma`, and the order is as written, so
// the engines agree to the bit; nothing may be contracted or reassociated. Users: runtime, codegen_llvm.
//
// O has the types F (float32), I (int32), D (float64), L (int64), M (a truth value for each lane), and
//   f(v), i(v), d(v), l(v)                        constants
//   add, sub, mul, div, fma, neg, abs, trunc, sqrt of floats, the last of double only; copysign(size, sign)
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

// The functions from here on compute in double, and are within 0.51 ulp where nothing else is said.

inline constexpr double kRoundD = 0x1.8p52;

// x = n pi/2 + r with |r| <= pi/4; the sine and the cosine of r.
template <class O>
struct QuarterTurn {
  typename O::L n;
  typename O::D sine, cosine;
};
template <class O>
QuarterTurn<O> quarter_turn(O& o, typename O::F x, std::int64_t quarters) {
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
  return {o.plus(o.bits(j), o.l(quarters)), s, c};
}
// The reduction is exact enough up to 2^30.
template <class O>
typename O::F unless_far(O& o, typename O::F x, const char* library, typename O::F made) {
  const auto size = o.abs(x);
  return o.rare(o.both(o.less(o.f(0x1p30f), size), o.less(size, o.f(__builtin_inff()))), x, library, made);
}

template <class O>
typename O::F sine_of_quarter(O& o, typename O::F x, std::int64_t quarters, const char* library) {
  const auto turn = quarter_turn(o, x, quarters);
  const auto y = o.select(o.odd(turn.n, 0), turn.cosine, turn.sine);
  return unless_far(o, x, library, o.narrow(o.select(o.odd(turn.n, 1), o.neg(y), y)));
}
template <class O>
typename O::F sin(O& o, typename O::F x) {
  return o.select(o.equal(x, o.f(0)), x, sine_of_quarter(o, x, 0, "sinf"));
}
template <class O>
typename O::F cos(O& o, typename O::F x) {
  return sine_of_quarter(o, x, 1, "cosf");
}
// 0.88 ulp; 0.51 up to 2^30.
template <class O>
typename O::F tan(O& o, typename O::F x) {
  const auto turn = quarter_turn(o, x, 0);
  const auto odd = o.odd(turn.n, 0);
  const auto y = o.div(o.select(odd, o.neg(turn.cosine), turn.sine), o.select(odd, turn.sine, turn.cosine));
  return o.select(o.equal(x, o.f(0)), x, unless_far(o, x, "tanf", o.narrow(y)));
}

// The angle whose tangent is z, from 0 to 1.
template <class O>
typename O::D arc_of(O& o, typename O::D z) {
  constexpr double p[] = {0x1.ffffffffe73aap-1, -0x1.55555513c16dbp-2, 0x1.99997c8596416p-3, -0x1.248fb93b23062p-3,
                          0x1.c6df947fb2d63p-4, -0x1.72a78420c389ep-4, 0x1.330183645713bp-4, -0x1.ed5696d593b14p-5,
                          0x1.658d8604e2763p-5, -0x1.aa15151ec4ec5p-6, 0x1.7676078c4ec4fp-7, -0x1.a2d4e49d89d8ap-9,
                          0x1.b797fd89d89d9p-12};
  return o.mul(z, polynomial(o, o.mul(z, z), p));
}
inline constexpr double kPi = 0x1.921fb54442d18p+1;

template <class O>
typename O::F atan(O& o, typename O::F x) {
  const auto size = o.wide(o.abs(x)), one = o.d(1);
  const auto steep = o.less(one, size);
  const auto arc = arc_of(o, o.select(steep, o.div(one, size), size));
  const auto angle = o.copysign(o.narrow(o.select(steep, o.sub(o.d(kPi / 2), arc), arc)), x);
  return o.select(o.equal(x, o.f(0)), x, angle);
}

// The angle between the positive axis and the point (run, rise), neither of them negative. That of (0, 0) is 0.
template <class O>
typename O::D upright_angle(O& o, typename O::D rise, typename O::D run) {
  const auto inf = o.d(__builtin_inf()), zero = o.d(0);
  const auto steep = o.less(run, rise);
  const auto low = o.select(steep, run, rise), high = o.select(steep, rise, run);
  auto z = o.select(o.both(o.equal(low, zero), o.equal(high, zero)), zero, o.div(low, high));
  z = o.select(o.both(o.equal(low, inf), o.equal(high, inf)), o.d(1), z);
  const auto arc = arc_of(o, z);
  return o.select(steep, o.sub(o.d(kPi / 2), arc), arc);
}
template <class O>
typename O::D turned_left(O& o, typename O::D angle, typename O::F x) {
  const auto left = o.less(o.copysign(o.f(1), x), o.f(0));
  return o.select(left, o.sub(o.d(kPi), angle), angle);
}
// The special cases are those of C's atan2.
template <class O>
typename O::F atan2(O& o, typename O::F y, typename O::F x) {
  const auto angle = upright_angle(o, o.wide(o.abs(y)), o.wide(o.abs(x)));
  return o.copysign(o.narrow(turned_left(o, angle, x)), y);
}

// sqrt(1 - x^2), NaN beyond 1.
template <class O>
typename O::D other_side(O& o, typename O::D x) {
  return o.sqrt(o.mul(o.sub(o.d(1), x), o.add(o.d(1), x)));
}
template <class O>
typename O::F asin(O& o, typename O::F x) {
  const auto size = o.wide(o.abs(x));
  return o.copysign(o.narrow(upright_angle(o, size, other_side(o, size))), x);
}
template <class O>
typename O::F acos(O& o, typename O::F x) {
  const auto size = o.wide(o.abs(x));
  return o.narrow(turned_left(o, upright_angle(o, other_side(o, size), size), x));
}

// A positive double x = m 2^e with m from sqrt(1/2) to sqrt(2).
template <class O>
struct LogParts {
  typename O::D e, m;
};
template <class O>
LogParts<O> log_parts(O& o, typename O::D x) {
  constexpr std::int64_t kRootBits = 0x3fe6a09e667f3bcd;  // of sqrt(1/2)
  const auto above = o.minus(o.bits(x), o.l(kRootBits));
  const auto m = o.floating(o.plus(o.bit_and(above, o.l(0xfffffffffffff)), o.l(kRootBits)));
  return {o.number(o.sar(above, 52)), m};
}
// log2 of 2^e (1 + s) / (1 - s), with an absolute error of 2^-44.
template <class O>
typename O::D log2_of(O& o, typename O::D e, typename O::D s) {
  constexpr double p[] = {0x1.71547652b824fp+1, 0x1.ec709dc5406b9p-1, 0x1.2776c28e4b467p-1,
                          0x1.a61a32faad694p-2, 0x1.47949f8ff8cf2p-2, 0x1.21bbab4f66225p-2};
  return o.fma(s, polynomial(o, o.mul(s, s), p), e);
}
template <class O>
typename O::D log2_of(O& o, typename O::D x) {
  const auto parts = log_parts(o, x);
  const auto s = o.div(o.sub(parts.m, o.d(1)), o.add(parts.m, o.d(1)));
  return log2_of(o, parts.e, s);
}

// A logarithm of x as a float, given one for positive finite numbers.
template <class O>
typename O::F of_positive(O& o, typename O::D x, typename O::D made) {
  const auto inf = o.d(__builtin_inf());
  made = o.select(o.less(x, inf), made, o.add(x, x));  // infinity and NaN
  made = o.select(o.equal(x, o.d(0)), o.neg(inf), made);
  return o.narrow(o.select(o.less(x, o.d(0)), o.d(__builtin_nan("")), made));
}
template <class O>
typename O::F log2(O& o, typename O::F x) {
  const auto d = o.wide(x);
  return of_positive(o, d, log2_of(o, d));
}
template <class O>
typename O::F log10(O& o, typename O::F x) {
  const auto d = o.wide(x);
  return of_positive(o, d, o.mul(log2_of(o, d), o.d(0x1.34413509f79ffp-2)));
}
// log(1 + x): where that is near 1 the difference of the two is x itself, not what is left of it.
template <class O>
typename O::F log_above_one(O& o, typename O::D x) {
  const auto one = o.d(1);
  const auto sum = o.add(x, one);
  const auto parts = log_parts(o, sum);
  const auto above = o.select(o.equal(parts.e, o.d(0)), x, o.sub(parts.m, one));
  const auto log2 = log2_of(o, parts.e, o.div(above, o.add(parts.m, one)));
  return of_positive(o, sum, o.mul(log2, o.d(0x1.62e42fefa39efp-1)));
}
template <class O>
typename O::F log1p(O& o, typename O::F x) {
  return o.select(o.equal(x, o.f(0)), x, log_above_one(o, o.wide(x)));
}
template <class O>
typename O::F asinh(O& o, typename O::F x) {
  const auto size = o.wide(o.abs(x)), square = o.mul(size, size), one = o.d(1);
  const auto more = o.div(square, o.add(one, o.sqrt(o.add(one, square))));
  const auto far = o.equal(size, o.d(__builtin_inf()));
  return o.copysign(log_above_one(o, o.select(far, size, o.add(size, more))), x);
}
template <class O>
typename O::F acosh(O& o, typename O::F x) {
  const auto above = o.sub(o.wide(x), o.d(1));
  const auto more = o.add(above, o.sqrt(o.mul(above, o.add(above, o.d(2)))));
  return log_above_one(o, o.select(o.less(above, o.d(0)), o.d(__builtin_nan("")), more));
}
template <class O>
typename O::F atanh(O& o, typename O::F x) {
  const auto size = o.wide(o.abs(x)), one = o.d(1);
  const auto parts = log_parts(o, o.div(o.add(one, size), o.sub(one, size)));
  const auto near = o.less(size, o.d(0.17));  // there e is 0, and s is x
  const auto s = o.select(near, size, o.div(o.sub(parts.m, one), o.add(parts.m, one)));
  auto made = o.mul(log2_of(o, o.select(near, o.d(0), parts.e), s), o.d(0x1.62e42fefa39efp-2));
  made = o.select(o.equal(size, one), o.d(__builtin_inf()), made);
  made = o.select(o.less(size, o.add(one, one)), o.select(o.less(one, size), o.d(__builtin_nan("")), made),
                  o.d(__builtin_nan("")));
  return o.select(o.equal(x, o.f(0)), x, o.copysign(o.narrow(made), x));
}

// 2^t for any t; beyond the range of a float a number that is not in it either.
template <class O>
typename O::D exp2_of(O& o, typename O::D t) {
  constexpr double p[] = {0x1.ffffffffab9adp-1, 0x1.62e42ff116c39p-1,  0x1.ebfbe0a4f2fa5p-3,  0x1.c6b08aae4f7acp-5,
                          0x1.3b29dc149e064p-7, 0x1.5d8a7111e9012p-10, 0x1.446a438c9d9acp-13, 0x1.fe1749a31cdecp-17};
  t = o.select(o.less(t, o.d(-160)), o.d(-160), t);
  t = o.select(o.less(o.d(130), t), o.d(130), t);
  const auto j = o.add(t, o.d(kRoundD));
  const auto r = o.sub(t, o.sub(j, o.d(kRoundD)));
  const auto n = o.minus(o.bits(j), o.l(0x4338000000000000));
  return o.mul(polynomial(o, r, p), o.floating(o.shl(o.plus(n, o.l(1023)), 52)));
}

template <class O>
typename O::F cosh(O& o, typename O::F x) {
  const auto e = exp2_of(o, o.mul(o.wide(o.abs(x)), o.d(0x1.71547652b82fep+0)));
  return o.narrow(o.mul(o.d(0.5), o.add(e, o.div(o.d(1), e))));
}
// Below 1 the sum of its series.
template <class O>
typename O::F sinh(O& o, typename O::F x) {
  constexpr double p[] = {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800};
  const auto size = o.wide(o.abs(x));
  const auto square = o.mul(size, size);
  const auto near = o.fma(o.mul(size, square), polynomial(o, square, p), size);
  const auto e = exp2_of(o, o.mul(size, o.d(0x1.71547652b82fep+0)));
  const auto far = o.mul(o.d(0.5), o.sub(e, o.div(o.d(1), e)));
  return o.copysign(o.narrow(o.select(o.less(size, o.d(1)), near, far)), x);
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
  auto made = o.narrow(exp2_of(o, t));
  const auto whole = o.equal(o.trunc(y), y);
  const auto half = o.mul(y, o.f(0.5f));
  const auto odd = o.both(whole, o.negated(o.equal(o.trunc(half), half)));
  made = o.select(odd, o.copysign(made, x), made);
  const auto no_root = o.both(o.both(o.less(x, zero), o.less(size, inf)), o.negated(whole));
  made = o.select(no_root, o.f(__builtin_nanf("")), made);
  return o.select(o.either(o.equal(x, one), o.equal(y, zero)), one, made);
}

}  // namespace rldb::runtime::formula
