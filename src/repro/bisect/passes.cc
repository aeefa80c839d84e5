// PassBisector: the first pass of a pipeline after which the results are no longer right.
#include <fmt/format.h>

#include <map>

#include "repro/bisect/next_middles.h"
#include "repro/bisect/pass_looks.h"
#include "repro/bisect/search_passes.h"
#include "repro/cpu_clock.h"
#include "rldb/repro/bisect.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

class PassBisector {
 public:
  PassBisector(VersionOracle& oracle, const BisectProgress& progress, PassBisection& out)
      : oracle_(oracle), progress_(progress), out_(out) {}

  void run(pipeline::ModuleRef module, const std::vector<pipeline::Invocation>& pipeline, support::Ranks* ranks) {
    PassLooks looks(oracle_, module, pipeline, ranks);
    looks_ = &looks;
    out_.count = pipeline.size();
    out_.runs = oracle_.start(module);
    out_.tried = oracle_.tried();
    if (ranks && ranks->rank() > 0) return looks.answer();
    if (!out_.runs) out_.why = "the program cannot be compared before the first pass: " + oracle_.why();
    if (!out_.runs && !oracle_.wants_failures()) return;
    if (oracle_.look(module)) {
      out_.why = "the symptom is there before the first pass";
      return;
    }
    const std::string unseen = oracle_.unseen();
    for (std::size_t i = 0; i < pipeline.size(); ++i) {
      support::poll();
      tell(i, pipeline.size(), pipeline[i].name());
      if (step(i, pipeline[i])) return;
    }
    if (!out_.runs) return;
    if (!unseen.empty())
      out_.why = "the program cannot be judged before the first pass: " + unseen;
    else if (out_.passed_by.empty() && oracle_.blind().empty())
      out_.verdict = PassBisection::Verdict::None;
    else if (out_.passed_by.empty())
      out_.why = oracle_.blind() + " before and after the passes";
    else
      out_.why = fmt::format("from {} on the program cannot be compared: {}", out_.passed_by[0].first,
                             out_.passed_by[0].second);
  }

 private:
  void tell(std::size_t done, std::size_t count, std::string_view what) const {
    if (progress_) progress_(done, count, what);
  }

  // Runs one pass; true: it causes the symptom, or the program cannot continue.
  bool step(std::size_t i, const pipeline::Invocation& pass) {
    const PassLooks::Applied& applied = looks_->whole(i);
    out_.pass = pass;
    out_.before = looks_->before(i);
    out_.after = applied.after;
    out_.index = i;
    out_.rewrites = applied.rewrites;
    PassLooks::Look look = looks_->look(i);
    auto& symptom = look.symptom;
    if (!symptom) {
      note_unseen(look.unseen);
      return false;
    }
    if (symptom->kind == SymptomKind::Values && oracle_.accept_as_meant(pass)) {
      looks_->accept(i);
      out_.meant.emplace_back(pass.name());
      out_.passed_by.clear();
      note_unseen(oracle_.unseen());
      return false;
    }
    if (symptom->is_failure() && !oracle_.wants_failures()) {
      out_.why = fmt::format("pass `{}` fails: {}", symptom->pass, symptom->text);
      return true;
    }
    out_.why.clear();
    out_.verdict = PassBisection::Verdict::Found;
    out_.symptom = std::move(*symptom);
    look_twice();
    find_rewrite();
    return true;
  }

  // Records whether the last pass's output could be compared; it may have changed nothing.
  void note_unseen(const std::string& unseen) {
    if (out_.after == out_.before) return;
    if (unseen.empty())
      out_.passed_by.clear();
    else
      out_.passed_by.emplace_back(pipeline::to_string(out_.pass), unseen);
  }

  void look_twice() {
    const pipeline::ModuleRef again = looks_->apply(out_.index, -1).after;
    const bool same = (!again && !out_.after) || (again && out_.after && oracle_.is_same(again, out_.after));
    out_.unstable = !same;
  }

  // The first rewrite that makes the symptom appear.
  void find_rewrite() {
    if (out_.rewrites == 0 || out_.unstable) return;
    std::int64_t good = 0, bad = out_.rewrites;
    ask({0}, good, bad);
    if (shows_.at(0)) return;  // it comes from something that is not counted
    while (bad - good > 1) {
      support::poll();
      tell(out_.index, out_.count, fmt::format("{}, rewrites {} to {}", out_.pass.name(), good, bad));
      const std::int64_t middle = good + (bad - good) / 2;
      if (!shows_.contains(middle)) ask({}, good, bad);
      (shows_.at(middle) ? bad : good) = middle;
    }
    out_.without = looks_->apply(out_.index, good).after;
    const PassLooks::Applied with = looks_->apply(out_.index, bad);
    out_.with = with.after;
    out_.rewrite = bad;
    out_.rewrite_text = with.last;
  }

  // These limits, and as many of those that the search between `good` and `bad` will ask as there are ranks.
  void ask(std::vector<std::int64_t> limits, std::int64_t good, std::int64_t bad) {
    for (const std::int64_t limit : next_middles(good, bad, looks_->width() - limits.size()))
      if (!shows_.contains(limit)) limits.push_back(limit);
    const auto symptoms = looks_->with_limits(out_.index, limits);
    for (std::size_t i = 0; i < limits.size(); ++i) shows_[limits[i]] = symptoms[i] == out_.symptom;
  }

  VersionOracle& oracle_;
  const BisectProgress& progress_;
  PassBisection& out_;
  PassLooks* looks_ = nullptr;
  std::map<std::int64_t, bool> shows_;  // with so many rewrites
};

// Finds where the values diverge.
std::optional<Comparison> compare_sides(session::Session& session, Oracle& oracle, const PassBisection& found) {
  const bool differ = found.verdict == PassBisection::Verdict::Found && found.symptom.kind == SymptomKind::Values;
  if (!differ || oracle.arguments().empty() || !found.after) return std::nullopt;
  Program a, b;
  a.module = found.before.as<ir::Module>();
  a.function = oracle.question().function;
  a.args = oracle.arguments_of(a.module);
  a.kernels = session.options().engine;
  b = a;
  b.module = found.after.as<ir::Module>();
  b.args = oracle.arguments_of(b.module);
  Comparison c = compare(session, a, b, oracle.question().tolerances);
  return c.verdict == Comparison::Verdict::Differs ? std::optional(std::move(c)) : std::nullopt;
}

}  // namespace

PassBisection bisect_passes(VersionOracle& oracle, pipeline::ModuleRef module,
                            const std::vector<pipeline::Invocation>& passes, const BisectProgress& progress,
                            support::Ranks* ranks) {
  PassBisection out;
  PassBisector(oracle, progress, out).run(module, passes, ranks);
  return out;
}

namespace {

PassBisection bisect(session::Session& session, const ir::Module* module, const Question& question,
                     const BisectProgress& progress, support::Ranks* ranks, bool on_other_inputs) {
  PassBisection out;
  const auto passes = passes::parse_pipeline(question.passes);
  if (!passes.ok()) {
    out.why = passes.error().text;
    return out;
  }
  Oracle oracle(session, question);
  const auto start = CpuClock::now();
  out = bisect_passes(oracle, module, *passes, progress, ranks);
  out.comparison = compare_sides(session, oracle, out);
  if (!on_other_inputs || (ranks && ranks->rank() > 0)) return out;
  auto found = search_inputs(session, oracle, module, *passes, CpuClock::now() - start, out, progress);
  if (!found) return out;
  // The same question on these inputs, for the rewrite.
  Question again = question;
  again.values = found->values;
  Oracle on_these(session, again);
  PassBisection b = again.values.empty() ? PassBisection() : bisect_passes(on_these, module, *passes, progress);
  if (b.verdict != PassBisection::Verdict::Found) return std::move(*found);
  b.comparison = compare_sides(session, on_these, b);
  b.tried = found->tried;
  b.notes = found->notes;
  b.values = found->values;
  return b;
}

}  // namespace

PassBisection bisect_on_these_inputs(session::Session& session, const ir::Module* module, const Question& question) {
  return bisect(session, module, question, {}, nullptr, false);
}

PassBisection bisect_passes(session::Session& session, const ir::Module* module, const Question& question,
                            const BisectProgress& progress, support::Ranks* ranks) {
  return bisect(session, module, question, progress, ranks, true);
}

}  // namespace rldb::repro
