// The difference of two tensors: elements, largest error in units of the format, the first index.
#include "rldb/repro/tensor_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::repro {

namespace {

using runtime::DType;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

// Bits after the point, as stored.
int mantissa_bits(DType t) {
  if (t.is_bfloat16()) return 7;
  if (t.is_float8() || t.is_narrow_float()) return 2;
  return t.bits == 64 ? 52 : t.bits == 16 ? 10 : 23;
}

// The distance between adjacent values at `x`.
double spacing(double x, DType t) {
  const int exponent = x == 0 ? -126 : std::ilogb(x);
  return std::ldexp(1.0, std::max(exponent, t.bits == 64                       ? -1022
                                            : t.bits == 16 && !t.is_bfloat16() ? -14
                                                                               : -126) -
                             mantissa_bits(t));
}

bool same_float(double a, double b, const TensorDifference& d, const runtime::Tolerance& t, const Tolerances& all) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  if (all.exact || std::isinf(a) || std::isinf(b)) return false;
  if (std::abs(a - b) <= t.atol + t.rtol * std::abs(a)) return true;
  const auto ulp = all.ulp ? ulp_distance(a, b, d.dtype) : std::nullopt;
  return ulp && *ulp <= *all.ulp;
}

void note_float(double a, double b, TensorDifference& d) {
  d.nan_a += std::isnan(a) && !std::isnan(b);
  d.nan_b += std::isnan(b) && !std::isnan(a);
  d.inf_a += std::isinf(a) && !std::isinf(b);
  d.inf_b += std::isinf(b) && !std::isinf(a);
  d.opposite += std::isinf(a) && std::isinf(b);
  if (!std::isfinite(a) || !std::isfinite(b)) {
    d.not_finite += !std::isnan(a) || !std::isnan(b);
    return;
  }
  const double error = std::abs(a - b);
  d.max_abs = std::max(d.max_abs, error);
  if (a != 0) d.max_rel = std::max(d.max_rel, error / std::abs(a));
  if (const auto ulp = ulp_distance(a, b, d.dtype)) d.max_ulp = std::max(d.max_ulp, *ulp);
}

std::vector<std::int64_t> index_of(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> out(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    out[i] = flat % shape[i];
    flat /= shape[i];
  }
  return out;
}

std::optional<TensorDifference> compare_floats(const Tensor& a, const Tensor& b, const Tolerances& t,
                                               TensorDifference d) {
  const runtime::Tolerance own = t.of(d.dtype);
  for (std::int64_t i = 0; i < d.total; ++i) {
    if ((i & 0xffff) == 0) support::poll();
    const double x = a.at(i), y = b.at(i);
    if (x == y) continue;
    note_float(x, y, d);
    if (same_float(x, y, d, own, t)) continue;
    if (d.different++ > 0) continue;
    d.first = index_of(i, a.shape());
    d.a = x;
    d.b = y;
  }
  if (d.different == 0) return std::nullopt;
  return d;
}

std::optional<TensorDifference> compare_bytes(const Tensor& a, const Tensor& b, TensorDifference d) {
  const std::size_t size = d.dtype.bytes();
  for (std::int64_t i = 0; i < d.total; ++i) {
    const std::byte* x = a.peek() + std::size_t(i) * size;
    const std::byte* y = b.peek() + std::size_t(i) * size;
    if (std::memcmp(x, y, size) == 0) continue;
    d.max_abs = std::max(d.max_abs, std::abs(a.at(i) - b.at(i)));
    if (d.different++ > 0) continue;
    d.first = index_of(i, a.shape());
    d.a = a.at(i);
    d.b = b.at(i);
  }
  if (d.different == 0) return std::nullopt;
  return d;
}

TensorDifference of_kind(const Value& a, const Value& b) {
  TensorDifference d;
  d.kind = fmt::format("{} vs {}", runtime::describe(a), runtime::describe(b));
  return d;
}

std::optional<TensorDifference> compare_tensors(const Value& va, const Value& vb, const Tolerances& t) {
  const Tensor& a = va.as_tensor();
  const Tensor& b = vb.as_tensor();
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return of_kind(va, vb);
  TensorDifference d;
  d.dtype = a.dtype();
  d.total = a.element_count();
  if (std::memcmp(a.peek(), b.peek(), a.byte_size()) == 0) return std::nullopt;
  if (d.dtype.is_float() && d.dtype.lanes == 1) return compare_floats(a, b, t, d);
  return compare_bytes(a, b, d);
}

std::optional<TensorDifference> compare_tuples(const Value& a, const Value& b, const Tolerances& t) {
  const auto& left = a.as_tuple().fields;
  const auto& right = b.as_tuple().fields;
  if (left.size() != right.size()) return of_kind(a, b);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (auto d = difference(left[i], right[i], t)) {
      d->path.insert(d->path.begin(), i);
      return d;
    }
  return std::nullopt;
}

}  // namespace

runtime::Tolerance Tolerances::of(DType dtype) const {
  runtime::Tolerance out;
  double own = 1e-5;
  if (dtype.bits == 64) own = 1e-9;
  if (dtype.bits == 16) own = dtype.is_bfloat16() ? 2e-2 : 5e-3;
  if (dtype.bits < 16) own = 0.13;
  out.atol = atol.value_or(exact ? 0 : own);
  out.rtol = rtol.value_or(exact ? 0 : own);
  return out;
}

std::optional<std::uint64_t> ulp_distance(double a, double b, DType dtype) {
  if (!std::isfinite(a) || !std::isfinite(b) || !dtype.is_float()) return std::nullopt;
  const double steps = std::abs(a - b) / spacing(std::max(std::abs(a), std::abs(b)), dtype);
  return steps < 1e18 ? std::uint64_t(std::llround(steps)) : std::uint64_t(1e18);
}

bool are_given(const Tolerances& t) { return t.exact || t.atol || t.rtol || t.ulp; }

std::optional<TensorDifference> difference(const Value& a, const Value& b, const Tolerances& t) {
  // An executable holds a literal True as the number 1.
  const auto is_integer = [](const Value& v) { return v.is(ValueKind::Int) || v.is(ValueKind::Bool); };
  if (a.kind() != b.kind() && is_integer(a) && is_integer(b) && a.as_int() == b.as_int()) return std::nullopt;
  if (a.kind() != b.kind()) return of_kind(a, b);
  if (a.is(ValueKind::Tensor)) return compare_tensors(a, b, t);
  if (a.is(ValueKind::Tuple)) return compare_tuples(a, b, t);
  runtime::Tolerance plain;
  if (t.exact) plain.atol = plain.rtol = 0;
  if (runtime::compare(b, a, plain).empty()) return std::nullopt;
  TensorDifference d;
  d.kind = fmt::format("{} vs {}", runtime::format_value(a), runtime::format_value(b));
  return d;
}

namespace {

// By how much the numbers differ: infinities and NaN have no amount, and are counted.
std::string amount_of(const TensorDifference& d) {
  std::string text;
  if (d.different > d.not_finite) {
    text = fmt::format("{} by at most {:.4g} (abs)", d.not_finite > 0 ? "; where both are finite," : ",", d.max_abs);
    if (d.dtype.is_float()) text += fmt::format(", {:.4g} (rel), {} ulp", d.max_rel, d.max_ulp);
  }
  if (d.nan_a + d.nan_b > 0) text += fmt::format("; NaN on one side only: {} vs {}", d.nan_a, d.nan_b);
  if (d.inf_a + d.inf_b > 0) text += fmt::format("; infinite on one side only: {} vs {}", d.inf_a, d.inf_b);
  if (d.opposite > 0) text += fmt::format("; infinite with opposite signs: {}", d.opposite);
  return text;
}

}  // namespace

std::string to_string(const TensorDifference& d) {
  std::string where;
  for (const std::size_t field : d.path) where += fmt::format("field {}: ", field);
  if (!d.kind.empty()) return where + d.kind;
  return fmt::format("{}[{}]: {} vs {}; {} of {} {}{}", where, fmt::join(d.first, ", "), d.a, d.b, d.different,
                     support::counted(std::size_t(d.total), "element"), d.different == 1 ? "differs" : "differ",
                     amount_of(d));
}

}  // namespace rldb::repro
