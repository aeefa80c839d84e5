// Shadow: a program converted to float64, and both results measured against it.
#include "repro/compare/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "repro/compare/other_precision.h"
#include "repro/values.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::DType;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

// A side whose error is larger than the other's by this factor has more wrong with it than its order of summation; an
// error that rounding explains (this many units of the largest element) is not an error at all.
constexpr double kMuchLarger = 16, kRoundings = 16;

// Over all elements of one leaf: the largest error against the shadow, and the largest magnitude of the shadow.
struct Error {
  double worst = 0, magnitude = 0;
};

// Where both sides are infinite or NaN alike nothing is known of either.
Error error_of(const Tensor& t, const Tensor& shadow, const Tensor& other) {
  Error e;
  for (std::int64_t i = 0; i < t.element_count(); ++i) {
    support::poll();
    const double right = shadow.at(i), here = t.at(i), there = other.at(i);
    if (!std::isfinite(here) && (here == there || (std::isnan(here) && std::isnan(there)))) continue;
    if (std::isfinite(right)) e.magnitude = std::max(e.magnitude, std::abs(right));
    if (here == right || (std::isnan(here) && std::isnan(right))) continue;
    const double off = std::abs(here - right);
    e.worst = std::isnan(off) ? HUGE_VAL : std::max(e.worst, off);
  }
  return e;
}

// Some element differs by infinities or NaN, so that the difference has no size.
bool unlike_without_size(const Tensor& a, const Tensor& b) {
  for (std::int64_t i = 0; i < a.element_count(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (x != y && !(std::isnan(x) && std::isnan(y)) && !(std::isfinite(x) && std::isfinite(y))) return true;
  }
  return false;
}

double unit_of(DType t) {
  if (t.bits == 32) return 0x1p-23;
  return t.is_bfloat16() ? 0x1p-7 : 0x1p-10;
}

void measure(const Tensor& a, const Tensor& b, const Tensor& shadow, Shadow& out) {
  const Error of_a = error_of(a, shadow, b), of_b = error_of(b, shadow, a);
  const double rounding = kRoundings * unit_of(a.dtype()) * of_a.magnitude;
  out.error_a = std::max(out.error_a, of_a.worst);
  out.error_b = std::max(out.error_b, of_b.worst);
  using Verdict = Shadow::Verdict;
  if (!std::isfinite(of_a.worst) && !std::isfinite(of_b.worst) && unlike_without_size(a, b)) {
    out.verdict = Verdict::CannotTell;
    out.why = "they differ by infinities or NaN, and both have some where the result in float64 has numbers";
  }
  if (of_b.worst > kMuchLarger * of_a.worst && of_b.worst > rounding) out.verdict = Verdict::SecondIsOff;
  if (of_a.worst > kMuchLarger * of_b.worst && of_a.worst > rounding) out.verdict = Verdict::FirstIsOff;
}

}  // namespace

Shadow against_shadow(session::Session& session, const Program& program, const Value& a, const Value& b) {
  Shadow out;
  Program wide = program;
  wide.module = program.module ? in_precision(session, program.module, DType::Float(64)) : nullptr;
  if (!wide.module) {
    out.why = "the program does not read in float64";
    return out;
  }
  for (Value& v : wide.args) v = in_precision(v, DType::Float(64));
  const Trace trace = record(session, wide);
  if (!trace.error.empty()) {
    out.why = "the program does not run in float64: " + trace.error;
    return out;
  }
  std::vector<Value> left, right, shadow;
  flatten(a, left);
  flatten(b, right);
  flatten(trace.result, shadow);
  if (left.size() != right.size() || left.size() != shadow.size()) {
    out.why = "the results do not have as many parts as in float64";
    return out;
  }
  out.verdict = Shadow::Verdict::Rounding;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i].is(ValueKind::Tensor) || !right[i].is(ValueKind::Tensor) || !shadow[i].is(ValueKind::Tensor)) {
      if (is_opaque(left[i]) || !difference(left[i], right[i], {})) continue;
      out.verdict = Shadow::Verdict::CannotTell;
      out.why = fmt::format("part {} of the results differs, and is not a tensor", i);
      return out;
    }
    const Tensor &l = left[i].as_tensor(), &r = right[i].as_tensor(), &s = shadow[i].as_tensor();
    const bool comparable = l.shape() == r.shape() && l.shape() == s.shape() && l.dtype() == r.dtype();
    if (comparable && is_narrow(l.dtype())) {
      measure(l, r, s, out);
    } else if (!comparable || difference(left[i], right[i], {})) {
      out.verdict = Shadow::Verdict::CannotTell;
      out.why = fmt::format("part {} of the results differs, and is not of floats", i);
      return out;
    }
  }
  return out;
}

std::string to_string(const Shadow& s) {
  using Verdict = Shadow::Verdict;
  const std::string errors =
      fmt::format("errors against float64: {:.4g} of the first side, {:.4g} of the second", s.error_a, s.error_b);
  switch (s.verdict) {
    case Verdict::Rounding:
      return "rounding: both sides are as near to the result in float64; " + errors;
    case Verdict::FirstIsOff:
      return "more than rounding: the first side is off; " + errors;
    case Verdict::SecondIsOff:
      return "more than rounding: the second side is off; " + errors;
    case Verdict::CannotTell:
      break;
  }
  return "cannot tell whether it is rounding: " + s.why;
}

}  // namespace rldb::repro
