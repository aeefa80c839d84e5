// Bisection of Relay passes: the first one after which the symptom is there, and the first of its rewrites.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "repro/relay/relay_oracle.h"
#include "rldb/repro/relay_passes.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"

namespace rldb::repro {

namespace {

class RelayBisector {
 public:
  RelayBisector(session::Session& session, const session::RelayText& program, const Question& question,
                const BisectProgress& progress)
      : oracle_(session, program, question), first_(program.module()), progress_(progress) {}

  RelayBisection run(const std::vector<relay::PassInvocation>& passes) {
    out_.count = passes.size();
    if (!oracle_.start(first_) && !oracle_.wants_failures()) {
      out_.why = oracle_.why();
      return std::move(out_);
    }
    const relay::Module* before = first_;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      support::poll();
      out_.index = i;
      out_.pass = passes[i];
      out_.before = before;
      if (progress_) progress_(i, passes.size(), relay::to_string(passes[i]));
      if (auto symptom = with_limit(-1, out_.after)) {
        out_.verdict = RelayBisection::Verdict::Found;
        out_.symptom = *std::move(symptom);
        find_rewrite();
        return std::move(out_);
      }
      // A failure that the question is not about: what follows cannot be looked at.
      if (!out_.after) {
        out_.why = fmt::format("{} fails", relay::to_string(passes[i]));
        return std::move(out_);
      }
      before = out_.after;
    }
    if (passes.empty() || oracle_.unseen().empty())
      out_.verdict = RelayBisection::Verdict::None;
    else
      out_.why = oracle_.unseen();
    return std::move(out_);
  }

 private:
  // Applies the pass with at most that many rewrites, and returns the fault then.
  std::optional<Symptom> with_limit(std::int64_t limit, const relay::Module*& after) {
    std::optional<Symptom> failed;
    {
      support::RewriteCounter counter(limit);
      failed = oracle_.apply(out_.pass, out_.before, after);
      if (limit < 0) out_.rewrites = counter.asked();
      last_text_ = counter.last();
    }
    if (failed) return oracle_.wants_failures() ? failed : std::nullopt;
    return oracle_.look(after);
  }

  // Finds the first rewrite that makes it appear.
  void find_rewrite() {
    const relay::Module* version = nullptr;
    if (out_.rewrites == 0 || with_limit(0, version)) return;  // it comes from something that is not counted
    std::int64_t good = 0, bad = out_.rewrites;
    while (bad - good > 1) {
      support::poll();
      const std::int64_t middle = good + (bad - good) / 2;
      (with_limit(middle, version) ? bad : good) = middle;
    }
    with_limit(good, out_.without);
    with_limit(bad, out_.with);
    out_.rewrite = bad;
    out_.rewrite_text = last_text_;
  }

  RelayOracle oracle_;
  const relay::Module* first_;
  const BisectProgress& progress_;
  RelayBisection out_;
  std::string last_text_;
};

}  // namespace

std::string to_string(const RelayBisection& b) {
  switch (b.verdict) {
    case RelayBisection::Verdict::None:
      return fmt::format("no pass of {} introduces a fault", b.count);
    case RelayBisection::Verdict::CannotTell:
      return "cannot tell: " + b.why;
    case RelayBisection::Verdict::Found:
      break;
  }
  std::string text =
      fmt::format("pass {} of {}: {}\n{}", b.index + 1, b.count, relay::to_string(b.pass), b.symptom.text);
  if (b.rewrite > 0) text += fmt::format("\nrewrite {} of {}: {}", b.rewrite, b.rewrites, b.rewrite_text);
  return text;
}

std::string to_json(const RelayBisection& b) {
  using Verdict = RelayBisection::Verdict;
  nlohmann::ordered_json out{{"why", b.why}, {"passes", b.count}};
  out["verdict"] = b.verdict == Verdict::None ? "none" : b.verdict == Verdict::Found ? "found" : "cannot tell";
  if (b.verdict == Verdict::Found) {
    out["pass"] = relay::to_string(b.pass);
    out["index"] = b.index;
    out["symptom"] = {{"kind", to_string(b.symptom.kind)}, {"text", b.symptom.text}};
    out["rewrite"] = {{"number", b.rewrite}, {"of", b.rewrites}, {"text", b.rewrite_text}};
  }
  return out.dump(2);
}

RelayBisection bisect_relay(session::Session& session, const session::RelayText& program,
                            const std::vector<relay::PassInvocation>& passes, const Question& question,
                            const BisectProgress& progress) {
  return RelayBisector(session, program, question, progress).run(passes);
}

}  // namespace rldb::repro
