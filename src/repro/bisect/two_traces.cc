// Two stages beside each other, and two folders of stages.
#include <fmt/format.h>

#include <algorithm>

#include "repro/bisect/follow.h"
#include "repro/bisect/meant.h"
#include "repro/bisect/stages.h"
#include "repro/borrow.h"
#include "repro/compare/search.h"
#include "repro/cpu_clock.h"
#include "rldb/ir/equal.h"
#include "rldb/support/entry_function.h"

namespace rldb::repro {

namespace {

using Step = Follower::Step;

// The stages of both, one folder after the other.
TraceBisection joined(const TraceBisection& a, const TraceBisection& b, const std::string& first,
                      const std::string& second) {
  TraceBisection out;
  for (const auto& [side, folder] : {std::pair{&a, &first}, std::pair{&b, &second}})
    for (Stage s : side->stages) {
      s.file = *folder + "/" + s.file;
      out.stages.push_back(std::move(s));
    }
  return out;
}

// At the start of the second folder the comparison must have continued, or the folders were not compared.
void need_passage(TraceBisection& both, std::size_t second) {
  if (both.verdict != TraceBisection::Verdict::Agree) return;
  std::size_t i = second;
  while (i < both.stages.size() && !both.stages[i].not_runnable.empty()) ++i;
  if (i < both.stages.size() && !both.anew.contains(i)) return;
  both.verdict = TraceBisection::Verdict::CannotTell;
  both.why = "the programs of the two folders could not be compared with each other";
}

// Inputs other than those on which the two agree: `c` and its programs become those that differ.
void search_stages(session::Session& session, const TraceBisection& both, std::size_t a, std::size_t b,
                   const Program& first, const std::vector<bool>& generated, const SearchOptions& options,
                   StageComparison& out) {
  for (std::size_t i = a + 1; i <= b; ++i)
    if (meant_by(both.stages[i].pass) != Meant::Exact) return;
  const auto* f = ir::as<ir::Function>(first.module->find(first.function));
  const Stage &one = both.stages[a], &other = both.stages[b];
  if (!one.unfilled && !other.unfilled && ir::structural_equal(one.module, other.module)) return;
  if (!f || std::none_of(generated.begin(), generated.end(), [](bool made) { return made; })) return;
  SearchedPair pair{both.stages[a], both.stages[b], {}};
  pair.what.function = first.function;
  for (std::size_t i = 0; i < f->params.size() && i < generated.size() && i < first.args.size(); ++i)
    if (!generated[i]) pair.what.values.emplace(f->params[i]->name, first.args[i]);
  if (auto found = search_inputs(session, std::move(pair), options, out.comparison))
    std::tie(out.a, out.b) = std::move(*found);
}

}  // namespace

StageComparison compare_stages(session::Session& session, std::vector<Stage> stages, std::size_t a, std::size_t b,
                               const Followed& what, const Tolerances& tolerances, bool shadow) {
  const std::string function = what.function.empty() ? std::string(support::kEntryFunction) : what.function;
  StageComparison out;
  TraceBisection both;
  both.stages = std::move(stages);
  for (const std::size_t i : {a, b}) {
    const Stage& s = both.stages[i];
    if (s.module && s.not_runnable.empty()) continue;
    out.comparison.why = fmt::format("{}: {}", s.file, s.not_runnable);
    return out;
  }
  const Borrow borrow(session);
  Follower follower(session, tolerances, both, what);
  Point at;
  Program second;
  both.tried.inputs = what.inputs;
  both.tried.add_numbers(kUsualNumbers);
  both.tried.add_seed(session.options().seed);
  const auto start = CpuClock::now();
  Step step = follower.attempt(a, function, at, second);
  if (step != Step::Skipped) step = follower.attempt(b, function, at, second);
  if (step == Step::Agrees || step == Step::Differs) {
    out.a = step == Step::Differs ? at.program : at.before;
    out.b = step == Step::Differs ? second : at.program;
    out.comparison = compare(session, out.a, out.b, tolerances, shadow);
    judge_nan(out.comparison);
    out.comparison.tried = both.tried;
    search_stages(session, both, a, b, out.a, follower.made_up(), {tolerances, shadow, CpuClock::now() - start}, out);
    return out;
  }
  out.comparison.why = follower.last_reason();
  if (!both.notes.empty()) out.comparison.why = both.notes.back();
  if (out.comparison.why.empty()) out.comparison.why = fmt::format("there is no function `{}` in both", function);
  return out;
}

FolderBisection bisect_two_traces(session::Session& session, const std::string& first, const std::string& second,
                                  const Tolerances& tolerances, const Followed& what, const BisectProgress& progress,
                                  support::Ranks* ranks) {
  FolderBisection out;
  out.first = bisect_trace(session, first, tolerances, what, progress, ranks);
  out.second = bisect_trace(session, second, tolerances, what, progress, ranks);
  if (ranks && ranks->rank() > 0) return out;
  using Verdict = TraceBisection::Verdict;
  if (out.first.verdict != Verdict::Agree || out.second.verdict != Verdict::Agree) return out;
  out.both = bisect_stages(session, joined(out.first, out.second, first, second), tolerances, what, progress, nullptr);
  need_passage(*out.both, out.first.stages.size());
  return out;
}

TraceBisection::Verdict FolderBisection::verdict() const {
  using Verdict = TraceBisection::Verdict;
  if (first.verdict == Verdict::Found || second.verdict == Verdict::Found) return Verdict::Found;
  return both ? both->verdict : Verdict::CannotTell;
}

}  // namespace rldb::repro
