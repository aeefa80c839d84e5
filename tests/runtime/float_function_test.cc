// Elementary functions of float32 against the C library in double: a dense sample of all inputs, and the special
// values.
#include "rldb/runtime/float_function.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace rldb::runtime;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The error in units of the last place of a float32 of that size.
double ulps(float got, double wanted) {
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : kInf;
  const auto rounded = float(wanted);
  if (got == rounded)
    return std::fabs(wanted) < 0x1p-126 || std::isinf(rounded)
               ? 0
               : std::fabs(double(got) - wanted) / std::ldexp(1.0, std::ilogb(wanted) - 23);
  if (!std::isfinite(got) || std::isinf(rounded)) {
    // The largest float and infinity are neighbours.
    const double a = std::isinf(got) ? std::copysign(0x1p128, got) : double(got);
    return std::fabs(a - wanted) / 0x1p104;
  }
  return std::fabs(double(got) - wanted) / std::ldexp(1.0, std::max(std::ilogb(wanted), -126) - 23);
}

struct Function {
  const char* name;
  float (*f)(float);
  double (*exact)(double);
  double bound;         // in ulp
  double from = -kInf;  // the bound holds from here on
};

constexpr Function kFunctions[] = {
    {"exp", exp_f32, [](double x) { return std::exp(x); }, 1.02},
    {"exp2", exp2_f32, [](double x) { return std::exp2(x); }, 1.0},
    {"log", log_f32, [](double x) { return std::log(x); }, 1.0},
    {"tanh", tanh_f32, [](double x) { return std::tanh(x); }, 2.7},
    {"erf", erf_f32, [](double x) { return std::erf(x); }, 1.5},
    {"sigmoid", sigmoid_f32, [](double x) { return 1 / (1 + std::exp(-x)); }, 2.5, -87.0},
    {"sin", sin_f32, [](double x) { return std::sin(x); }, 0.57},
    {"cos", cos_f32, [](double x) { return std::cos(x); }, 0.57},
    {"tan", tan_f32, [](double x) { return std::tan(x); }, 0.88},
    {"atan", atan_f32, [](double x) { return std::atan(x); }, 0.51},
    {"asin", asin_f32, [](double x) { return std::asin(x); }, 0.51},
    {"acos", acos_f32, [](double x) { return std::acos(x); }, 0.51},
    {"asinh", asinh_f32, [](double x) { return std::asinh(x); }, 0.51},
    {"acosh", acosh_f32, [](double x) { return std::acosh(x); }, 0.51},
    {"sinh", sinh_f32, [](double x) { return std::sinh(x); }, 0.51},
    {"cosh", cosh_f32, [](double x) { return std::cosh(x); }, 0.51},
    {"atanh", atanh_f32, [](double x) { return std::atanh(x); }, 0.51},
    {"log2", log2_f32, [](double x) { return std::log2(x); }, 0.51},
    {"log10", log10_f32, [](double x) { return std::log10(x); }, 0.51},
    {"log1p", log1p_f32, [](double x) { return std::log1p(x); }, 0.51},
};

}  // namespace

TEST_CASE("elementary functions: the stated error over a sample of all float32") {
  for (const Function& function : kFunctions) {
    CAPTURE(function.name);
    double worst = 0;
    float at = 0;
    for (std::uint64_t bits = 11; bits < std::uint64_t(1) << 32; bits += 8191) {
      const auto x = std::bit_cast<float>(std::uint32_t(bits));
      if (x < function.from) continue;
      const double error = ulps(function.f(x), function.exact(double(x)));
      if (error <= worst) continue;
      worst = error;
      at = x;
    }
    CAPTURE(at);
    CHECK(worst <= function.bound);
    CHECK(worst > 0.3);  // the sample meets numbers that are hard to round
  }
}

TEST_CASE("elementary functions: special values") {
  const auto same = [](float got, float wanted) {
    return std::isnan(wanted) ? std::isnan(got)
                              : std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(wanted);
  };
  for (const Function& function : kFunctions) {
    CAPTURE(function.name);
    for (const float x : {0.0f, -0.0f, kInf, -kInf, kNan, 1.0f, -1.0f}) {
      CAPTURE(x);
      const auto wanted = float(function.exact(double(x)));
      const float got = function.f(x);
      if (std::isfinite(wanted) && x != 0)
        CHECK(std::fabs(got - wanted) <= std::fabs(wanted) * 0x1p-22f);
      else
        CHECK(same(got, wanted));
    }
  }
  // Denormals in and out.
  for (const float x : {0x1p-149f, -0x1p-149f, 0x1.8p-130f}) {
    CHECK(same(tanh_f32(x), x));
    CHECK(same(sin_f32(x), x));
    CHECK(same(exp_f32(x), 1.0f));
    CHECK(same(erf_f32(x), float(std::erf(double(x)))));
  }
  CHECK(same(log_f32(0x1p-149f), float(std::log(0x1p-149))));
  CHECK(same(exp_f32(-103.0f), float(std::exp(-103.0))));
  CHECK(same(exp_f32(-1000.0f), 0.0f));
  CHECK(same(exp2_f32(-149.0f), 0x1p-149f));
  CHECK(same(exp2_f32(7.0f), 128.0f));
}

TEST_CASE("pow: special cases as in C, and half an ulp elsewhere") {
  const float special[] = {
      0.0f,  -0.0f, 1.0f,  -1.0f,     kInf,       -kInf,      kNan,    2.0f,           -2.0f,           3.0f,
      -3.0f, 0.5f,  -0.5f, 0x1p-149f, -0x1p-149f, 0x1.fp127f, 0x1p24f, 0x1.000002p24f, -0x1.fffffep23f, 8388607.5f};
  const auto check = [](float x, float y) {
    const double wanted = std::pow(double(x), double(y));
    const float got = pow_f32(x, y);
    if (ulps(got, wanted) <= 0.51 && std::signbit(got) == std::signbit(wanted)) return true;
    return std::isnan(wanted) && std::isnan(got);
  };
  for (const float x : special)
    for (const float y : special) {
      CAPTURE(x);
      CAPTURE(y);
      CHECK(check(x, y));
    }
  std::mt19937_64 random(7);
  int wrong = 0;
  for (int i = 0; i < 300'000; ++i) {
    const auto x = std::bit_cast<float>(std::uint32_t(random()));
    auto y = std::bit_cast<float>(std::uint32_t(random()));
    // An exponent with a finite result.
    if (i % 2 == 0) y = float(double(random() % 300'000) / 1000 - 150) / float(std::log2(std::fabs(x)) + 1e-9);
    wrong += check(x, y) ? 0 : 1;
  }
  CHECK(wrong == 0);
  for (int i = 0; i <= 20; ++i) CHECK(pow_f32(3.0f, float(i)) == float(std::pow(3.0, i)));
}

TEST_CASE("atan2: special cases as in C, and half an ulp elsewhere") {
  const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, kInf, -kInf, kNan, 3.0f, -3.0f, 0x1p-149f, -0x1p-149f, 0x1.fp127f};
  const auto check = [](float y, float x) {
    const double wanted = std::atan2(double(y), double(x));
    const float got = atan2_f32(y, x);
    if (std::isnan(wanted)) return std::isnan(got);
    return ulps(got, wanted) <= 0.52 && std::signbit(got) == std::signbit(wanted);
  };
  for (const float y : special)
    for (const float x : special) {
      CAPTURE(y);
      CAPTURE(x);
      CHECK(check(y, x));
    }
  std::mt19937_64 random(7);
  int wrong = 0;
  for (int i = 0; i < 300'000; ++i) {
    const auto y = std::bit_cast<float>(std::uint32_t(random()));
    auto x = std::bit_cast<float>(std::uint32_t(random()));
    if (i % 2 == 0) x = y * float(double(random() % 4000) / 1000 - 2);
    wrong += check(y, x) ? 0 : 1;
  }
  CHECK(wrong == 0);
}
