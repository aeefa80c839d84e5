// Facts about tensors: statistics, histograms, comparison of two.
#include "rldb/debug/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "rldb/expression/array.h"
#include "rldb/expression/distribution.h"

namespace rldb::debug {

using runtime::DType;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using support::Ref;

std::string index_text(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string element_text(const Tensor& t, std::int64_t flat) {
  auto view = Tensor::view(t.storage(), t.byte_offset() + std::size_t(flat) * t.dtype().bytes(), {}, t.dtype());
  if (!view.ok()) return "?";
  const std::string text = runtime::format_value(Value(std::move(view).value()));
  const auto line = text.find('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

Result<Statistics> statistics_of(const Value& v, std::int64_t bins) {
  RLDB_TRY(const Ref<Tensor> t, expression::as_tensor(v));
  const expression::Moments m = expression::moments_of(*t);
  Statistics s;
  s.count = t->element_count();
  s.finite = m.finite, s.nan = m.nan, s.zero = m.zero, s.negative = m.negative;
  s.positive_inf = m.positive_inf, s.negative_inf = m.negative_inf;
  if (m.first_nan >= 0) s.first_nan = index_text(m.first_nan, t->shape());
  if (m.first_inf >= 0) s.first_inf = index_text(m.first_inf, t->shape());
  if (s.finite == 0) return s;
  s.min = {m.low, element_text(*t, m.low_at), index_text(m.low_at, t->shape())};
  s.max = {m.high, element_text(*t, m.high_at), index_text(m.high_at, t->shape())};
  s.mean = m.mean, s.std = m.std, s.norm = m.norm;
  constexpr double kParts[] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};
  // Equal elements are in the middle of bins of width one, as in NumPy.
  const double apart = m.low == m.high ? 0.5 : 0;
  s.edges = expression::equal_edges(m.low - apart, m.high + apart, bins);
  expression::Distribution found = expression::distribution_of(*t, kParts, m.negative_inf, m.finite, s.edges);
  for (std::size_t i = 0; i < found.quantiles.size(); ++i) s.quantiles.emplace_back(kParts[i], found.quantiles[i]);
  s.histogram = std::move(found.counts);
  return s;
}

// ---- two values ----

namespace {

// The bits of a float as an integer that counts the values of its format in order: adjacent floats differ by one, and
// so do the zeros and their neighbours.
std::int64_t place_in_format(const std::byte* data, DType t) {
  const DType bits = DType::UInt(t.bits);
  const auto raw = std::uint64_t(runtime::load_as_int(data, bits));
  const std::uint64_t sign = std::uint64_t(1) << (t.bits - 1);
  return raw & sign ? -std::int64_t(raw & ~sign) : std::int64_t(raw);
}

// Formats with a sign bit above an exponent and a mantissa, in whole bytes.
bool has_places(DType t) { return t.is_float() && t.bits % 8 == 0 && t.code != runtime::TypeCode::Float8E8M0FNU; }

struct Pass {
  const Tensor& a;
  const Tensor& b;
  const runtime::Tolerance& tolerance;
  Differences out;
  double sum = 0;
  std::int64_t summed = 0;
  double worst = -1;

  Differences::Element element(std::int64_t at) const {
    return {index_text(at, a.shape()), element_text(a, at), element_text(b, at)};
  }
  void note(std::int64_t at, double p, double q, double absolute) {
    if (out.differing++ == 0) out.first = element(at);
    const bool nan = std::isnan(absolute);  // one of them is not a number
    if (nan) absolute = std::numeric_limits<double>::infinity();
    if (absolute > worst) worst = absolute, out.worst = element(at);
    out.max_absolute = std::max(out.max_absolute, absolute);
    const double scale = std::fabs(q);
    const double relative =
        scale > 0 && std::isfinite(scale) ? absolute / scale : std::numeric_limits<double>::infinity();
    out.max_relative = std::max(out.max_relative, relative);
    const bool finite = std::isfinite(p) && std::isfinite(q);
    out.outside += !finite || absolute > tolerance.atol + tolerance.rtol * scale;
    if (out.has_ulp && !nan) {
      const std::size_t offset = std::size_t(at) * a.dtype().bytes();
      const std::int64_t x = place_in_format(a.peek() + offset, a.dtype());
      const std::int64_t y = place_in_format(b.peek() + offset, b.dtype());
      out.max_ulp =
          std::max(out.max_ulp, x > y ? std::uint64_t(x) - std::uint64_t(y) : std::uint64_t(y) - std::uint64_t(x));
    }
    if (std::isfinite(absolute)) sum += absolute;
  }
};

void compare_floats(Pass& pass) {
  double p[expression::kChunk], q[expression::kChunk];
  for (std::int64_t at = 0; at < pass.out.count; at += expression::kChunk) {
    support::poll();
    const std::int64_t n = std::min(expression::kChunk, pass.out.count - at);
    expression::load(pass.a, at, 1, n, p);
    expression::load(pass.b, at, 1, n, q);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool same = p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i]));
      pass.summed += std::isfinite(p[i] - q[i]);
      if (!same) pass.note(at + i, p[i], q[i], std::fabs(p[i] - q[i]));
    }
  }
}

void compare_integers(Pass& pass) {
  const bool is_signed = pass.a.dtype() != DType::UInt(64);
  std::int64_t p[expression::kChunk], q[expression::kChunk];
  for (std::int64_t at = 0; at < pass.out.count; at += expression::kChunk) {
    support::poll();
    const std::int64_t n = std::min(expression::kChunk, pass.out.count - at);
    expression::load(pass.a, at, 1, n, p);
    expression::load(pass.b, at, 1, n, q);
    pass.summed += n;
    for (std::int64_t i = 0; i < n; ++i) {
      if (p[i] == q[i]) continue;
      const bool less = is_signed ? p[i] < q[i] : std::uint64_t(p[i]) < std::uint64_t(q[i]);
      const std::uint64_t apart =
          less ? std::uint64_t(q[i]) - std::uint64_t(p[i]) : std::uint64_t(p[i]) - std::uint64_t(q[i]);
      pass.note(at + i, pass.a.at(at + i), pass.b.at(at + i), double(apart));
    }
  }
}

}  // namespace

Result<Differences> differences(const Value& left, const Value& right, const runtime::Tolerance& tolerance) {
  RLDB_TRY(const Ref<Tensor> a, expression::as_tensor(left));
  RLDB_TRY(const Ref<Tensor> b, expression::as_tensor(right));
  if (a->shape() != b->shape())
    return fail(ErrorKind::ShapeMismatch,
                fmt::format("{} and {} differ in shape", runtime::describe(Value(a)), runtime::describe(Value(b))));
  Pass pass{*a, *b, tolerance, {}};
  pass.out.count = a->element_count();
  const bool same_dtype = a->dtype() == b->dtype();
  pass.out.has_ulp = same_dtype && has_places(a->dtype());
  if (same_dtype && a->dtype().is_integral())
    compare_integers(pass);
  else
    compare_floats(pass);
  if (pass.summed > 0) pass.out.mean_absolute = pass.sum / double(pass.summed);
  return pass.out;
}

}  // namespace rldb::debug
