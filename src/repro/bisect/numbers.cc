#include "repro/bisect/numbers.h"

#include <algorithm>
#include <cmath>

#include "repro/values.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

bool is_rounding(const Value& a, const TensorDifference& d, double most) {
  if (!d.kind.empty() || d.not_finite > 0) return false;
  const runtime::Tensor& t = a.as_tensor();
  if (!t.dtype().is_float() || t.dtype().lanes != 1) return false;
  double sum = 0;
  for (std::int64_t i = 0; i < t.element_count(); ++i)
    if (std::isfinite(t.at(i))) sum += t.at(i) * t.at(i);
  const double mean = std::sqrt(sum / double(std::max<std::int64_t>(1, t.element_count())));
  const double epsilon = t.dtype().bits >= 64 ? 0x1p-52 : t.dtype().bits >= 32 ? 0x1p-23 : 0x1p-10;
  return d.max_abs <= most * epsilon * mean;
}

bool is_plain_float(const runtime::Tensor& t) { return t.dtype().is_float() && t.dtype().lanes == 1; }

void store(const runtime::Tensor& t, std::int64_t i, double value) {
  runtime::store_double(t.data() + std::size_t(i) * t.dtype().bytes(), t.dtype(), value);
}

bool is_plain_integer(const runtime::Tensor& t) {
  return (t.dtype().is_int() || t.dtype().is_uint()) && !t.dtype().is_bool() && t.dtype().lanes == 1 &&
         t.dtype().bits >= 8;
}

bool has_integers(const runtime::Value& v) {
  bool found = false;
  for_each_tensor(v, [&](const runtime::Tensor& t) { found = found || is_plain_integer(t); });
  return found;
}

void widen(const runtime::Tensor& t) {
  const int bits = t.dtype().bits;
  const std::int64_t step = bits >= 64 ? (1 << 29) + 3 : bits == 32 ? 6700 : bits == 16 ? 29 : 2;
  const std::int64_t least = t.dtype().is_uint() ? 0 : -4;
  for (std::int64_t i = 0; i < t.element_count(); ++i) {
    std::byte* at = t.data() + std::size_t(i) * t.dtype().bytes();
    runtime::store_int(at, t.dtype(), (runtime::load_as_int(at, t.dtype()) + least) * step);
  }
}

bool overflows_on_one_side(const Value& a, const Value& b) {
  if (!a.is(ValueKind::Tensor) || !b.is(ValueKind::Tensor)) return false;
  const runtime::Tensor &x = a.as_tensor(), &y = b.as_tensor();
  if (!is_plain_float(x) || x.dtype() != y.dtype() || x.element_count() != y.element_count()) return false;
  const double limit = x.dtype().bits == 16 && !x.dtype().is_bfloat16() ? 0x1p12 : 0x1p100;
  for (std::int64_t i = 0; i < x.element_count(); ++i) {
    const double p = x.at(i), q = y.at(i);
    if (std::isfinite(p) != std::isfinite(q) && std::fabs(std::isfinite(p) ? p : q) < limit) return true;
  }
  return false;
}

std::int64_t not_finite(const Value& result) {
  std::int64_t n = 0;
  for_each_tensor(result, [&](const runtime::Tensor& t) {
    if (!is_plain_float(t)) return;
    for (std::int64_t i = 0; i < t.element_count(); ++i) n += !std::isfinite(t.at(i));
  });
  return n;
}

Tolerances of_large_numbers(Tolerances t) {
  constexpr double kRough = 0.05;
  if (!t.rtol) t.rtol = kRough;
  if (!t.atol) t.atol = kRough;
  return t;
}

}  // namespace rldb::repro
