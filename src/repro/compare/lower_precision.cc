// Compares the error of a conversion with that of the whole program in the lower precision.
#include "repro/compare/lower_precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "repro/compare/other_precision.h"
#include "repro/values.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using runtime::DType;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

// A conversion in parts may round more often than one as a whole.
constexpr double kTimesWorse = 4, kRoundingsInParts = 16;
// Two correct conversions by the same rules differ in a cast or two.
constexpr double kRoundingsBesideOurs = 2;

bool uses(const ir::Module* module, DType format) {
  const auto is = [&](const ir::Type* t) {
    const auto* tensor = ir::as<ir::TensorType>(t);
    return tensor && tensor->dtype.element() == format;
  };
  bool found = false;
  for (const ir::ModuleEntry& e : module->entries)
    if (const auto* f = ir::as<ir::Function>(e.function))
      ir::walk(f, [&](const ir::Node* n) {
        const auto* b = ir::as<ir::Binding>(n);
        found = found || (b && is(b->var->type));
        return !found;
      });
  return found;
}

// Void, for passes that approximate without changing the format, counts as float16.
double unit_of_format(DType t) { return t.is_bfloat16() ? 0x1p-7 : 0x1p-10; }

// The largest distance between two tensors, and the largest magnitude of the first.
struct Distance {
  double worst = 0, magnitude = 0;
};

Distance distance(const Tensor& right, const Tensor& other) {
  Distance d;
  for (std::int64_t i = 0; i < right.element_count(); ++i) {
    const double a = right.at(i), b = other.at(i);
    if (std::isfinite(a)) d.magnitude = std::max(d.magnitude, std::fabs(a));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double off = std::fabs(a - b);
    d.worst = std::isfinite(off) ? std::max(d.worst, off) : HUGE_VAL;
  }
  return d;
}

bool is_float_tensor(const Value& v) { return v.is(ValueKind::Tensor) && v.as_tensor().dtype().is_float(); }

}  // namespace

DType lower_format(const ir::Module* before, const ir::Module* after) {
  for (const DType format : {DType::Float(16), DType{runtime::TypeCode::BFloat, 16, 1}})
    if (uses(after, format) && !uses(before, format)) return format;
  return {};
}

LowerPrecision::LowerPrecision(session::Session& session, const ir::Module* before, const ir::Module* after,
                               std::vector<const ir::Module*> ours)
    : session_(session), before_(before), format_(lower_format(before, after)), ours_(std::move(ours)) {}

LowerPrecision::Answer LowerPrecision::judge(const std::vector<Value>& args, const Value& before, const Value& after,
                                             const Run& run, std::string& why) {
  Leaves a, b;
  flatten(before, a);
  flatten(after, b);
  if (a.size() != b.size()) return Answer::Worse;
  std::string of_ours;
  if (is_as_ours(args, a, b, run, of_ours)) return Answer::Explained;
  const Answer answer = judge_by_format(args, a, b, run, why);
  if (answer != Answer::Explained || of_ours.empty()) return answer;
  why = of_ours;
  return Answer::CannotTell;
}

// `why`: none of ours has such an error; empty: none of them runs.
bool LowerPrecision::is_as_ours(const std::vector<Value>& args, const Leaves& before, const Leaves& after,
                                const Run& run, std::string& why) const {
  for (const ir::Module* module : ours_) {
    const std::optional<Value> result = run(module, args);
    Leaves ours;
    if (result) flatten(*result, ours);
    if (ours.size() != before.size()) continue;
    std::string worse;
    for (std::size_t i = 0; i < ours.size() && worse.empty(); ++i) {
      if (is_opaque(before[i]) || runtime::compare(after[i], before[i]).empty()) continue;
      if (runtime::compare(after[i], ours[i]).empty()) continue;
      const bool floats = is_float_tensor(before[i]) && is_float_tensor(after[i]) && is_float_tensor(ours[i]) &&
                          before[i].as_tensor().shape() == after[i].as_tensor().shape() &&
                          before[i].as_tensor().shape() == ours[i].as_tensor().shape();
      if (!floats) return false;
      const Distance of_pass = distance(before[i].as_tensor(), after[i].as_tensor());
      const Distance of_ours = distance(before[i].as_tensor(), ours[i].as_tensor());
      const double rounding = kRoundingsBesideOurs * unit_of_format(format_) * of_pass.magnitude;
      if (of_pass.worst > std::max(kTimesWorse * of_ours.worst, rounding) || !std::isfinite(of_pass.worst))
        worse = fmt::format("the error is {:.3g}, that of rldb's own pass {:.3g}", of_pass.worst, of_ours.worst);
    }
    if (worse.empty()) return true;
    why = worse;
  }
  return false;
}

LowerPrecision::Answer LowerPrecision::judge_by_format(const std::vector<Value>& args, const Leaves& a, const Leaves& b,
                                                       const Run& run, std::string& why) {
  if (format_.is_void()) return Answer::Worse;
  const std::string name = runtime::to_string(format_);
  if (!lower_) lower_ = in_precision(session_, before_, format_);
  std::vector<Value> lower_args;
  for (const Value& v : args) lower_args.push_back(in_precision(v, format_));
  const std::optional<Value> result = lower_ ? run(lower_, lower_args) : std::nullopt;
  if (!result) {
    why = fmt::format("the program before the pass does not run in {}", name);
    return Answer::CannotTell;
  }
  Leaves l;
  flatten(*result, l);
  if (a.size() != l.size()) return Answer::Worse;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_opaque(a[i]) || runtime::compare(b[i], a[i]).empty()) continue;
    if (!is_float_tensor(a[i]) || !is_float_tensor(b[i]) || a[i].as_tensor().shape() != b[i].as_tensor().shape()) {
      // An index, a comparison: close numbers may decide it, and then they do so in the lower precision too.
      if (runtime::compare(l[i], a[i]).empty()) return Answer::Worse;
      why = fmt::format("part {} of the result is not of floats, and differs in {} without the pass too", i, name);
      return Answer::CannotTell;
    }
    if (!is_float_tensor(l[i]) || l[i].as_tensor().shape() != a[i].as_tensor().shape()) return Answer::Worse;
    const Distance of_pass = distance(a[i].as_tensor(), b[i].as_tensor());
    const Distance of_format = distance(a[i].as_tensor(), l[i].as_tensor());
    const double allowed =
        std::max(kTimesWorse * of_format.worst, kRoundingsInParts * unit_of_format(format_) * of_pass.magnitude);
    if (of_pass.worst <= allowed && std::isfinite(allowed)) continue;
    if (!std::isfinite(of_format.worst)) {
      why = fmt::format("the program before the pass has no finite result in {}", name);
      return Answer::CannotTell;
    }
    why =
        fmt::format("the error is {:.3g}, that of the same program in {} {:.3g}", of_pass.worst, name, of_format.worst);
    return Answer::Worse;
  }
  return Answer::Explained;
}

}  // namespace rldb::repro
