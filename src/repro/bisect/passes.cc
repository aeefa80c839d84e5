// PassBisector: the first pass of a pipeline after which the results are no longer right.
#include <fmt/format.h>

#include "repro/borrow.h"
#include "rldb/ir/equal.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/repro/bisect.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

class PassBisector {
 public:
  PassBisector(session::Session& session, Oracle& oracle, const BisectProgress& progress, PassBisection& out)
      : session_(session), oracle_(oracle), progress_(progress), out_(out) {}

  void run(const ir::Module* module, const std::vector<passes::PassInvocation>& pipeline) {
    out_.count = pipeline.size();
    out_.runs = oracle_.start(module);
    if (!out_.runs) out_.why = "the program cannot be compared before the first pass: " + oracle_.why();
    if (!out_.runs && !oracle_.wants_failures()) return;
    if (oracle_.look(module)) {
      out_.why = "the symptom is there before the first pass";
      return;
    }
    const ir::Module* before = module;
    for (std::size_t i = 0; i < pipeline.size(); ++i) {
      support::poll();
      tell(i, pipeline.size(), passes::info(pipeline[i].id).name);
      if (step(i, pipeline[i], before)) return;
      before = out_.after;
    }
    if (!out_.runs) return;
    if (out_.passed_by.empty())
      out_.verdict = PassBisection::Verdict::None;
    else
      out_.why = fmt::format("from {} on the program cannot be compared: {}", out_.passed_by[0].first,
                             out_.passed_by[0].second);
  }

 private:
  void tell(std::size_t done, std::size_t count, std::string_view what) const {
    if (progress_) progress_(done, count, what);
  }

  // Runs one pass; true: it causes the symptom, or the program cannot continue.
  bool step(std::size_t i, const passes::PassInvocation& pass, const ir::Module* before) {
    out_.pass = pass;
    out_.before = before;
    out_.index = i;
    auto symptom = with_limit(-1, out_.after);
    if (!symptom) {
      note_unseen();
      return false;
    }
    if (symptom->kind == SymptomKind::Values && oracle_.accept_as_meant(pass)) {
      out_.meant.emplace_back(passes::info(pass.id).name);
      out_.passed_by.clear();
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
    compare_sides();
    return true;
  }

  // Records whether the last pass's output could be compared; it may have changed nothing.
  void note_unseen() {
    if (out_.after == out_.before) return;
    if (oracle_.unseen().empty())
      out_.passed_by.clear();
    else
      out_.passed_by.emplace_back(passes::to_string(out_.pass), oracle_.unseen());
  }

  // Runs the pass with at most that many rewrites, and returns the symptom then.
  std::optional<Symptom> with_limit(std::int64_t limit, const ir::Module*& after) {
    passes::RewriteCounter counter(limit);
    auto failed = oracle_.apply(out_.pass, out_.before, after);
    if (limit < 0) out_.rewrites = counter.asked();
    last_text_ = counter.last();
    if (failed || after == out_.before) return failed;
    return oracle_.look(after);
  }

  void look_twice() {
    const ir::Module* again = nullptr;
    with_limit(-1, again);
    const bool same = (!again && !out_.after) || (again && out_.after && ir::structural_equal(again, out_.after));
    out_.unstable = !same;
  }

  // The first rewrite that makes the symptom appear.
  void find_rewrite() {
    if (out_.rewrites == 0 || out_.unstable) return;
    const ir::Module* version = nullptr;
    if (with_limit(0, version) == out_.symptom) return;  // it comes from something that is not counted
    std::int64_t good = 0, bad = out_.rewrites;
    while (bad - good > 1) {
      support::poll();
      tell(out_.index, out_.count, fmt::format("{}, rewrites {} to {}", passes::info(out_.pass.id).name, good, bad));
      const std::int64_t middle = good + (bad - good) / 2;
      (with_limit(middle, version) == out_.symptom ? bad : good) = middle;
    }
    with_limit(good, out_.without);
    with_limit(bad, out_.with);
    out_.rewrite = bad;
    out_.rewrite_text = last_text_;
  }

  // Finds where the values diverge.
  void compare_sides() {
    if (oracle_.arguments().empty() || !out_.after || out_.symptom.kind != SymptomKind::Values) return;
    Program a, b;
    a.module = out_.before;
    a.function = oracle_.question().function;
    a.args = oracle_.arguments_of(a.module);
    a.kernels = session_.options().engine;
    b = a;
    b.module = out_.after;
    b.args = oracle_.arguments_of(b.module);
    Comparison c = compare(session_, a, b, oracle_.question().tolerances);
    if (c.verdict == Comparison::Verdict::Differs) out_.comparison = std::move(c);
  }

  session::Session& session_;
  Oracle& oracle_;
  const BisectProgress& progress_;
  PassBisection& out_;
  std::string last_text_;
};

}  // namespace

PassBisection bisect_passes(session::Session& session, const ir::Module* module, const Question& question,
                            const BisectProgress& progress) {
  PassBisection out;
  auto pipeline = passes::parse_pipeline(question.passes);
  if (!pipeline.ok()) {
    out.why = pipeline.error().text;
    return out;
  }
  Oracle oracle(session, question);
  PassBisector(session, oracle, progress, out).run(module, *pipeline);
  return out;
}

}  // namespace rldb::repro
