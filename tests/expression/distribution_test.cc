// Moments, order statistics and bins against plain loops over sorted copies.
#include "rldb/expression/distribution.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "rldb/expression/array.h"

using namespace rldb;
using namespace rldb::expression;
using runtime::DType;
using runtime::Value;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

support::Ref<runtime::Tensor> tensor_of(const std::vector<double>& values, DType t) {
  auto made = runtime::Tensor::empty({std::int64_t(values.size())}, t);
  REQUIRE(made.ok());
  store(**made, 0, std::int64_t(values.size()), values.data());
  return *made;
}

std::vector<double> values_of(const runtime::Tensor& t) {
  std::vector<double> out(std::size_t(t.element_count()));
  load(t, 0, 1, t.element_count(), out.data());
  return out;
}

bool nan_last(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void check_moments(const runtime::Tensor& t) {
  const Moments m = moments_of(t);
  std::int64_t finite = 0, zero = 0, negative = 0, nan = 0, inf = 0;
  double low = kInf, high = -kInf, sum = 0;
  const std::vector<double> all = values_of(t);
  for (const double v : all) {
    zero += v == 0, negative += v < 0, nan += std::isnan(v), inf += std::isinf(v);
    if (std::isfinite(v)) ++finite, sum += v, low = std::min(low, v), high = std::max(high, v);
  }
  CHECK(m.finite == finite);
  CHECK(m.zero == zero);
  CHECK(m.negative == negative);
  CHECK(m.nan == nan);
  CHECK(m.positive_inf + m.negative_inf == inf);
  const auto first = [&](auto is) {
    const auto it = std::find_if(all.begin(), all.end(), is);
    return it == all.end() ? -1 : it - all.begin();
  };
  CHECK(m.first_nan == first([](double v) { return std::isnan(v); }));
  CHECK(m.first_inf == first([](double v) { return std::isinf(v); }));
  if (finite == 0) return;
  CHECK(m.low_at == first([&](double v) { return v == low; }));
  CHECK(m.high_at == first([&](double v) { return v == high; }));
  double apart = 0, squares = 0;
  const double mean = sum / double(finite);
  for (const double v : all)
    if (std::isfinite(v)) apart += (v - mean) * (v - mean), squares += v * v;
  CHECK(m.mean == doctest::Approx(mean).epsilon(1e-9));
  CHECK(m.std == doctest::Approx(std::sqrt(apart / double(finite))).epsilon(1e-9));
  CHECK(m.norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-9));
}

void check_order(const runtime::Tensor& t) {
  std::vector<double> sorted = values_of(t);
  std::sort(sorted.begin(), sorted.end(), nan_last);
  const auto count = std::int64_t(sorted.size());
  std::vector<std::int64_t> positions{0, count / 3, count / 2, count / 2, count - 1};
  const auto few = values_at(t, positions);
  for (std::size_t i = 0; i < positions.size(); ++i) CHECK(same(few[i], sorted[std::size_t(positions[i])]));
  while (positions.size() < 100) positions.push_back(std::int64_t(positions.size()) % count);
  const auto many = values_at(t, positions);
  for (std::size_t i = 0; i < positions.size(); ++i) CHECK(same(many[i], sorted[std::size_t(positions[i])]));
}

void check_bins(const runtime::Tensor& t, const std::vector<double>& edges) {
  const auto counts = bin_counts(t, edges);
  std::vector<std::int64_t> expected(edges.size() - 1);
  for (const double v : values_of(t))
    for (std::size_t b = 0; b + 1 < edges.size(); ++b)
      expected[b] += v >= edges[b] && (v < edges[b + 1] || (b + 2 == edges.size() && v == edges[b + 1]));
  CHECK(counts == expected);
}

}  // namespace

TEST_CASE("moments, order and bins of random tensors") {
  std::mt19937 random(7);
  const DType types[] = {DType::Float(16), DType::Float(32), DType::Float(64), DType::Int(8),
                         DType::Int(32),   DType::UInt(8),   DType::BFloat16()};
  for (const DType t : types)
    for (const int count : {1, 2, 7, 1023, 1024, 1025, 5000}) {
      std::vector<double> values;
      std::normal_distribution<double> normal(0, t.is_float() ? 3 : 30);
      for (int i = 0; i < count; ++i) values.push_back(t.is_uint() ? std::fabs(normal(random)) : normal(random));
      if (t.is_float())
        for (const double special : {kNaN, kInf, -kInf, 0.0, -0.0})
          if (random() % 2 && count > 2) values[random() % values.size()] = special;
      const auto tensor = tensor_of(values, t);
      CAPTURE(runtime::to_string(t));
      CAPTURE(count);
      check_moments(*tensor);
      check_order(*tensor);
      check_bins(*tensor, equal_edges(-7, 5, 10));
      const Moments m = moments_of(*tensor);
      if (m.finite > 0) {
        const std::vector<double> parts{0, 0.05, 0.5, 0.5, 0.99, 1};
        const std::vector<double> edges = equal_edges(m.low - (m.low == m.high), m.high + (m.low == m.high), 20);
        const Distribution both = distribution_of(*tensor, parts, m.negative_inf, m.finite, edges);
        CHECK(both.quantiles == quantiles_of(*tensor, parts, m.negative_inf, m.finite));
        CHECK(both.counts == bin_counts(*tensor, edges));
      }
      if (m.finite > 0 && m.low < m.high) check_bins(*tensor, equal_edges(m.low, m.high, 33));
    }
}

TEST_CASE("sums of squares beyond the range of double") {
  for (const double scale : {1e200, 1e-200, 1e300}) {
    const Moments m = moments_of(*tensor_of({3 * scale, -4 * scale, 0, 12 * scale}, DType::Float(64)));
    CHECK(m.norm == doctest::Approx(13 * scale));
    CHECK(m.mean == doctest::Approx(2.75 * scale));
  }
}

TEST_CASE("bins where quotients are not precise") {
  const double one_up = std::nextafter(1e16, kInf);
  check_bins(*tensor_of({1e16, one_up, 1e16 + 4, 1e16 + 7, 1e16 + 8}, DType::Float(64)),
             equal_edges(1e16, 1e16 + 8, 5));
  check_bins(*tensor_of({0, 5e-324, 1e-323}, DType::Float(64)), equal_edges(0, 1e-323, 4));
}

TEST_CASE("isnan, isinf and isfinite tell about every element in every format") {
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i)
    values.push_back(i % 7 == 0 ? kNaN : i % 5 == 0 ? (i % 2 ? kInf : -kInf) : i % 100 - 50);
  for (const DType t : {DType::Float(64), DType::Float(32), DType::Float(16), DType::BFloat16(), DType::Int(32)}) {
    std::vector<double> given = values;
    if (!t.is_float())
      for (double& v : given) v = std::isfinite(v) ? v : 0;
    const Value v(tensor_of(given, t));
    const auto names = [&](std::string_view) -> runtime::Result<Value> { return v; };
    const auto told = [&](std::string_view text) { return values_of(evaluate_text(text, names)->as_tensor()); };
    const std::vector<double> nan = told("isnan(x)"), inf = told("isinf(x)"), finite = told("isfinite(x)");
    for (std::size_t i = 0; i < given.size(); ++i) {
      CHECK(nan[i] == double(std::isnan(given[i])));
      CHECK(inf[i] == double(std::isinf(given[i])));
      CHECK(finite[i] == double(std::isfinite(given[i])));
    }
  }
}

TEST_CASE("many elements are counted as few are") {
  constexpr std::int64_t kCount = (1 << 20) + 77;
  for (const DType t : {DType::Float(32), DType::Float(64), DType::Int(64), DType::Bool()}) {
    std::vector<double> given(std::size_t(kCount), 0.0);
    std::int64_t want = 0;
    for (std::size_t i = 0; i < given.size(); i += 1 + i % 13) given[i] = 1, ++want;
    const Value v(tensor_of(given, t));
    const auto names = [&](std::string_view) -> runtime::Result<Value> { return v; };
    CHECK(number_of(*evaluate_text("x.count_nonzero()", names))->as_int() == want);
    CHECK(truth(*evaluate_text("x.any()", names)).value());
    CHECK_FALSE(truth(*evaluate_text("x.all()", names)).value());
  }
}

TEST_CASE("the places of elements that hold are those of a plain loop, and floats compare as doubles do") {
  constexpr std::int64_t kCount = (1 << 19) + 1237;
  std::vector<double> given(std::size_t(kCount), -1.0);
  for (std::size_t i = 0; i < given.size(); i += 1 + i % 29) given[i] = i % 3 == 0 ? kNaN : i % 5 == 0 ? kInf : 0.1;
  for (const DType t : {DType::Float(32), DType::Float(64), DType::Float(16)}) {
    const Value v(tensor_of(given, t));
    const std::vector<double> x = values_of(v.as_tensor());
    const auto names = [&](std::string_view) -> runtime::Result<Value> { return v; };
    const auto places = [&](std::string_view text) {
      return values_of(evaluate_text(text, names)->as_tuple().fields[0].as_tensor());
    };
    std::vector<double> above, differ;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] > 0) above.push_back(double(i));
      if (x[i] != x[i]) differ.push_back(double(i));
    }
    CHECK(places("where(x > 0)") == above);
    CHECK(places("where(x != x)") == differ);
    const std::vector<double> rest = places("where(~(x <= 0))");
    CHECK(rest.size() == above.size() + differ.size());
  }
}
