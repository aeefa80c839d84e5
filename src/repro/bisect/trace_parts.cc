// TraceBisector: kernels and single computations that are run by themselves.
#include <algorithm>
#include <set>

#include "repro/bisect/kept_meaning.h"
#include "repro/bisect/meant.h"
#include "repro/bisect/trace_bisector.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

void TraceBisector::look_at_kernels() {
  const session::Options given = session_.options();
  if (progress_) progress_(0, out_.stages.size(), "kernels");
  const auto kept = [&](const KernelDifference& d) {
    const session::Options of_kernels = session_.options();
    session_.options() = given;
    const bool is_kept = std::any_of(functions_.begin(), functions_.end(), [&](const Tried& f) {
      const auto traces = traces_of(f, d.good, d.bad);
      return traces && keeps_its_meaning(traces->first, traces->second, d.kernel, tolerances_);
    });
    session_.options() = of_kernels;
    return is_kept;
  };
  auto found = kernels_.check(kForKernels, kept, others_ ? &*others_ : nullptr, kKernel);
  session_.options() = given;
  if (!kernels_.compared().empty()) note_all_numbers();
  out_.kernels_compared = kernels_.compared();
  out_.kernels_not_run = kernels_.not_run();
  if (found) return found_kernel(std::move(*found));
  // They are all that these stages have.
  const bool has_programs = std::any_of(out_.stages.begin(), out_.stages.end(), can_run);
  if (has_programs || out_.kernels_compared.empty()) return;
  out_.verdict = TraceBisection::Verdict::Agree;
  out_.why.clear();
  tell_what_is_open();
}

void TraceBisector::found_kernel(KernelDifference found) {
  found_between(found.good, found.bad, found.good_program, found.bad_program);
  out_.function = found.kernel;
  out_.numbers = found.numbers;
  out_.dims = found.dims;
  out_.large = found.large;
  out_.kernel = std::move(found);
}

void TraceBisector::look_at_singles(const std::vector<Tried>& functions) {
  std::set<std::string> compared;  // ranks do not know of the computations that others have run
  for (std::size_t k = 1; k < order_.size(); ++k) {
    support::poll();
    if (progress_) progress_(order_[k], out_.stages.size(), out_.stages[order_[k]].file + ": single computations");
    std::vector<std::string> questions;
    for (std::size_t i = 0; i < singles_of(k).size(); ++i) questions.push_back(question(kSingle, k, i));
    for (std::size_t done = 0; done < questions.size();) {
      const std::vector<std::string> rest(questions.begin() + std::ptrdiff_t(done), questions.end());
      const std::vector<std::string> answers = ask_all(
          others_ ? &*others_ : nullptr, rest, [this](const std::string& q) { return answer_to(q); },
          [](const std::string& answer) { return answer == kFound; });
      std::size_t i = 0;
      for (; i < answers.size() && answers[i] != kFound; ++i) {
        out_.not_by_themselves += answers[i] == kNoTime;
        const auto parts = from_parts(answers[i]);
        if (parts && parts->size() == 2 && (*parts)[0] == kRan) compared.insert((*parts)[1]);
      }
      done += i + 1;
      if (i == answers.size()) break;
      const auto found = single_found(k, done - 1);
      if (!found || !is_one_computation(*found, k, functions)) continue;
      found_alone(*found, k);
      break;
    }
    if (out_.verdict == TraceBisection::Verdict::Found) break;
  }
  if (!compared.empty()) note_all_numbers();
  out_.by_themselves = compared.size();
}

const std::vector<AloneChecker::Pair>& TraceBisector::singles_of(std::size_t k) {
  while (singles_.size() <= k) {
    const std::size_t at = singles_.size();
    auto& pairs = singles_.emplace_back();
    if (at == 0) continue;
    const Stage &good = out_.stages[order_[at - 1]], &bad = out_.stages[order_[at]];
    if (good.unfilled || bad.unfilled || meant_by(bad.pass) != Meant::Exact) continue;
    pairs = alone_.changed(good.module, bad.module);
  }
  return singles_[k];
}

std::optional<AloneChecker::Outcome> TraceBisector::single(std::size_t k, std::size_t i) {
  const AloneChecker::Pair& pair = singles_of(k).at(i);
  if (!singles_until_) singles_until_ = Clock::now() + kForSingles;
  if (Clock::now() > *singles_until_) return std::nullopt;
  AloneChecker::Outcome outcome = run_single(pair, k);
  if (outcome.found) found_singles_[{k, i}] = *outcome.found;
  return outcome;
}

AloneChecker::Outcome TraceBisector::run_single(const AloneChecker::Pair& pair, std::size_t k) {
  const session::Options given = session_.options();
  session_.options().default_dim = kDims[0].value;
  AloneChecker::Outcome outcome = alone_.run(pair, out_.stages[order_[k - 1]], out_.stages[order_[k]]);
  session_.options() = given;
  return outcome;
}

std::optional<AloneChecker::Found> TraceBisector::single_found(std::size_t k, std::size_t i) {
  if (const auto it = found_singles_.find({k, i}); it != found_singles_.end()) return it->second;
  return run_single(singles_of(k)[i], k).found;
}

bool TraceBisector::is_one_computation(const AloneChecker::Found& f, std::size_t k,
                                       const std::vector<Tried>& functions) {
  return std::any_of(functions.begin(), functions.end(), [&](const Tried& tried) {
    const auto traces = traces_of(tried, order_[k - 1], order_[k]);
    return traces && is_one_in_both(f, traces->first, traces->second, tolerances_);
  });
}

std::optional<std::pair<Trace, Trace>> TraceBisector::traces_of(const Tried& tried, std::size_t good, std::size_t bad) {
  if (!was_compared(tried.name) || tried.at.previous == kNoStage) return std::nullopt;
  Point at = tried.at;
  Program ignored;
  std::optional<Trace> first;
  for (const std::size_t stage : {good, bad}) {
    if (!can_run(out_.stages[stage])) return std::nullopt;
    follower_.attempt(stage, tried.name, at, ignored);
    if (at.previous != stage) return std::nullopt;
    if (!first) first = record(session_, at.program);
  }
  return std::pair{std::move(*first), record(session_, at.program)};
}

void TraceBisector::found_alone(const AloneChecker::Found& f, std::size_t k) {
  found_between(order_[k - 1], order_[k], f.good, f.bad);
  out_.by_itself = f.binding;
  out_.numbers = f.numbers;
  out_.dims = f.dims;
  out_.large = f.large;
  const Tolerances t = f.large ? of_large_numbers(tolerances_) : tolerances_;
  out_.comparison = compare(session_, record(session_, f.good), record(session_, f.bad), f.good, f.bad, t);
}

}  // namespace rldb::repro
