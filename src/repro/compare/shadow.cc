// Shadow: a program converted to float64, and both results measured against it.
#include "repro/compare/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "repro/read_again.h"
#include "repro/values.h"
#include "rldb/ir/module.h"
#include "rldb/ir/op/dtype.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using ir::as;
using runtime::DType;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

// A side whose error is larger than the other's by this factor has more wrong with it than its order of summation; an
// error that rounding explains (this many units of the largest element) is not an error at all.
constexpr double kMuchLarger = 16, kRoundings = 16;

constexpr std::string_view kNarrow[] = {"float32", "float16", "bfloat16"};

bool is_narrow(DType t) { return t.is_float() && t.bits < 64 && t.lanes == 1; }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Narrow floats in a text become float64. Constants with their bytes may come before it: those stay unchanged.
std::string widen_text(const std::string& text) {
  const auto constants = text.find("metadata = ");
  const auto end = constants == std::string::npos ? constants : text.find("\"\"\")", constants);
  const std::size_t begin = end == std::string::npos ? 0 : end;
  std::string out = text.substr(0, begin);
  for (std::size_t at = begin; at < text.size();) {
    std::size_t stop = at;
    while (stop < text.size() && is_word(text[stop])) ++stop;
    const std::string_view word = std::string_view(text).substr(at, stop - at);
    const bool narrow = std::find(std::begin(kNarrow), std::end(kNarrow), word) != std::end(kNarrow);
    if (narrow)
      out += "float64";
    else
      out += stop > at ? word : std::string_view(text).substr(at, 1);
    at = stop > at ? stop : at + 1;
  }
  return out;
}

// Constants that are printed with their bytes are cast where they are read: the text's float64 is then the cast's.
class CastConstants : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const auto* c = as<ir::Constant>(e);
    const auto* type = c ? as<ir::TensorType>(c->type) : nullptr;
    if (!type || type->ndim == 0 || !is_narrow(type->dtype)) return default_expr(e);
    auto cast = ctx_.call(op::Astype, {e}, {ctx_.named(op_attr::Dtype, ctx_.attr(type->dtype))});
    return cast.ok() ? *cast : e;
  }
};

const ir::Module* widen(session::Session& session, const ir::Module* module) {
  ir::ModuleBuilder builder(session.context(), *module);
  for (const ir::ModuleEntry& entry : module->entries)
    if (const auto* f = as<ir::Function>(entry.function))
      builder.set(std::string(entry.name), CastConstants(session.context()).rewrite_function(f));
  ir::PrintOptions print;
  print.show_meta = true;
  return read_again(session, widen_text(ir::print(builder.build(), print)));
}

Value widen(const Value& v) {
  if (v.is(ValueKind::Tuple)) {
    std::vector<Value> fields;
    for (const Value& f : v.as_tuple().fields) fields.push_back(widen(f));
    return Value::of_tuple(std::move(fields));
  }
  if (!v.is(ValueKind::Tensor) || !is_narrow(v.as_tensor().dtype())) return v;
  const Tensor& from = v.as_tensor();
  auto made = Tensor::empty(from.shape(), DType::Float(64));
  if (!made.ok()) return v;  // the run reports what is missing
  for (std::int64_t i = 0; i < from.element_count(); ++i)
    runtime::store_double((*made)->data() + std::size_t(i) * sizeof(double), DType::Float(64), from.at(i));
  return Value(std::move(made).value());
}

// Over all elements of one leaf: the largest error against the shadow, and the largest magnitude of the shadow.
struct Error {
  double worst = 0, magnitude = 0;
};

Error error_of(const Tensor& t, const Tensor& shadow) {
  Error e;
  for (std::int64_t i = 0; i < t.element_count(); ++i) {
    support::poll();
    const double right = shadow.at(i), here = t.at(i);
    if (std::isfinite(right)) e.magnitude = std::max(e.magnitude, std::abs(right));
    if (here == right || (std::isnan(here) && std::isnan(right))) continue;
    const double off = std::abs(here - right);
    e.worst = std::isnan(off) ? HUGE_VAL : std::max(e.worst, off);
  }
  return e;
}

double unit_of(DType t) {
  if (t.bits == 32) return 0x1p-23;
  return t.is_bfloat16() ? 0x1p-7 : 0x1p-10;
}

void measure(const Tensor& a, const Tensor& b, const Tensor& shadow, Shadow& out) {
  const Error of_a = error_of(a, shadow), of_b = error_of(b, shadow);
  const double rounding = kRoundings * unit_of(a.dtype()) * of_a.magnitude;
  out.error_a = std::max(out.error_a, of_a.worst);
  out.error_b = std::max(out.error_b, of_b.worst);
  using Verdict = Shadow::Verdict;
  if (of_b.worst > kMuchLarger * of_a.worst && of_b.worst > rounding) out.verdict = Verdict::SecondIsOff;
  if (of_a.worst > kMuchLarger * of_b.worst && of_a.worst > rounding) out.verdict = Verdict::FirstIsOff;
}

}  // namespace

Shadow against_shadow(session::Session& session, const Program& program, const Value& a, const Value& b) {
  Shadow out;
  Program wide = program;
  wide.module = program.module ? widen(session, program.module) : nullptr;
  if (!wide.module) {
    out.why = "the program does not read in float64";
    return out;
  }
  for (Value& v : wide.args) v = widen(v);
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
    out.why = "the results have not as many parts as in float64";
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
