#include "repro/bisect/meant.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "repro/values.h"
#include "rldb/passes/pass.h"
#include "rldb/passes/pass_id.h"
#include "rldb/repro/tensor_difference.h"

namespace rldb::repro {

namespace {

struct ChangingPass {
  passes::PassId pass;
  Meant meant;
};
constexpr ChangingPass kChangingPasses[] = {
    {passes::PassId::ToMixedPrecision, Meant::Coarse},       // fewer bits
    {passes::PassId::FastMathTransform, Meant::Coarse},      // approximations
    {passes::PassId::DecomposeOpsForInference, Meant::Any},  // batch statistics become learned ones
    {passes::PassId::FoldBatchnormToConv2D, Meant::Any},
};

// The allowed error of a coarse computation, relative to the largest value of a tensor.
constexpr double kCoarse = 0.1;

// Numbers that overflow, and NaN, are not an error of any size.
bool is_coarsely_equal(const runtime::Value& a, const runtime::Value& b) {
  const auto d = difference(a, b, {});
  if (!d) return true;
  if (!d->kind.empty() || !a.is(runtime::ValueKind::Tensor) || d->not_finite > 0) return false;
  const runtime::Tensor& t = a.as_tensor();
  double largest = 0;
  for (std::int64_t i = 0; i < t.element_count(); ++i)
    if (std::isfinite(t.at(i))) largest = std::max(largest, std::fabs(t.at(i)));
  return d->max_abs <= kCoarse * largest;
}

}  // namespace

Meant meant_by(std::string_view name) {
  const passes::PassInfo* pass = passes::find_pass(name);
  for (const ChangingPass& p : kChangingPasses)
    if (pass && p.pass == pass->id) return p.meant;
  return Meant::Exact;
}

Meant meant_by_pipeline(std::string_view passes) {
  Meant most = Meant::Exact;
  auto pipeline = passes::parse_pipeline(passes);
  if (!pipeline.ok()) return most;
  for (const passes::PassInvocation& pass : *pipeline) most = std::max(most, meant_by(pass.name()));
  return most;
}

bool is_as_meant(Meant meant, const runtime::Value& before, const runtime::Value& after) {
  if (meant != Meant::Coarse) return meant == Meant::Any;
  std::vector<runtime::Value> a, b;
  flatten(before, a);
  flatten(after, b);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!is_opaque(a[i]) && !is_coarsely_equal(a[i], b[i])) return false;
  return true;
}

}  // namespace rldb::repro
