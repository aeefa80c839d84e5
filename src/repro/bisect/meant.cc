// The passes that change values, and how much each may.
#include "repro/bisect/meant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "repro/borrow.h"
#include "repro/compare/lower_precision.h"
#include "repro/values.h"
#include "rldb/eval/eval.h"
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

// Numbers that overflow, and NaN, are not an error of any size; neither are other shapes.
bool is_measurable(const runtime::Value& before, const runtime::Value& after) {
  std::vector<runtime::Value> a, b;
  flatten(before, a);
  flatten(after, b);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto d = is_opaque(a[i]) ? std::nullopt : difference(a[i], b[i], {});
    if (d && (!d->kind.empty() || d->not_finite > 0)) return false;
  }
  return true;
}

bool is_coarse_leaf(const runtime::Value& a, const runtime::Value& b) {
  const auto d = difference(a, b, {});
  if (!d || !a.is(runtime::ValueKind::Tensor)) return !d;
  const runtime::Tensor& t = a.as_tensor();
  double largest = 0;
  for (std::int64_t i = 0; i < t.element_count(); ++i)
    if (std::isfinite(t.at(i))) largest = std::max(largest, std::fabs(t.at(i)));
  return d->max_abs <= kCoarse * largest;
}

// Of values that are measurable.
bool is_coarsely_equal(const runtime::Value& before, const runtime::Value& after) {
  std::vector<runtime::Value> a, b;
  flatten(before, a);
  flatten(after, b);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!is_opaque(a[i]) && !is_coarse_leaf(a[i], b[i])) return false;
  return true;
}

// The modules that our passes of these names make of one, with each of the options that another compiler may have used
// and that a folder does not tell.
std::vector<const ir::Module*> by_our_passes(session::Session& session, const ir::Module* module,
                                             std::string_view passes) {
  std::vector<std::string> pipelines{std::string(passes)};
  if (const passes::PassInfo* pass = passes::find_pass(passes); pass && pass->id == passes::PassId::ToMixedPrecision)
    pipelines.push_back(fmt::format("{}(out_dtype=\"{}\")", pass->name, runtime::to_string(runtime::DType::Float(16))));
  std::vector<const ir::Module*> made;
  const Borrow borrow(session);
  for (const std::string& pipeline : pipelines) {
    session.set_program(module);
    source::Diagnostics ignored;
    if (session.run_passes(pipeline, ignored)) made.push_back(session.module());
  }
  return made;
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

AsMeant is_as_meant(session::Session& session, std::string_view passes, const Changed& changed) {
  using Verdict = AsMeant::Verdict;
  const Meant meant = meant_by_pipeline(passes);
  if (meant != Meant::Coarse) return {meant == Meant::Any ? Verdict::Yes : Verdict::No, {}};
  if (!is_measurable(changed.result_before, changed.result_after)) return {Verdict::No, {}};
  const auto run = [&](const ir::Module* module, const std::vector<runtime::Value>& args) {
    eval::Watcher nobody;
    source::Diagnostics ignored;
    const session::RunResult r = session.run_watched(module, changed.function, copies(args), nobody, ignored);
    return r.ok ? std::optional(r.value) : std::nullopt;
  };
  std::vector<const ir::Module*> ours;
  if (changed.by_others) ours = by_our_passes(session, changed.before, passes);
  LowerPrecision lower(session, changed.before, changed.after, std::move(ours));
  std::string why;
  switch (lower.judge(changed.args, changed.result_before, changed.result_after, run, why)) {
    case LowerPrecision::Answer::Explained:
      return {Verdict::Yes, {}};
    case LowerPrecision::Answer::CannotTell:
      return {Verdict::CannotTell, why};
    case LowerPrecision::Answer::Worse:
      break;
  }
  // Without a new format there is no program to measure the error with.
  if (lower.format().is_void() && is_coarsely_equal(changed.result_before, changed.result_after))
    return {changed.by_others ? Verdict::CannotTell : Verdict::Yes, why};
  return {Verdict::No, why};
}

}  // namespace rldb::repro
