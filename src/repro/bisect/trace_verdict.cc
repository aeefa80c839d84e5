// TraceBisector: faults that no compared value shows, and what is said when nothing was found.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "repro/bisect/stage_functions.h"
#include "repro/bisect/storage_sizes.h"
#include "repro/bisect/trace_bisector.h"
#include "repro/compare/not_compared.h"
#include "repro/unchanged.h"
#include "repro/values.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

void TraceBisector::note_function(const Tried& f) {
  if (was_compared(f.name)) return;
  const ir::Module *first = nullptr, *last = nullptr;
  bool same = true;
  for (const Stage& s : out_.stages) {
    if (!s.module) continue;
    if (!first) first = s.module;
    same = same && (!last || is_unchanged(last, s.module, f.name));
    last = s.module;
  }
  const bool all_read =
      std::all_of(out_.stages.begin(), out_.stages.end(), [](const Stage& s) { return s.module || s.is_empty; });
  if (same && all_read && first != last)
    out_.unchanged.push_back(f.name);
  else if (f.why == kNoValue)
    follower_.note(fmt::format("`{}` returns no value", f.name));
  else if (f.why.empty() && is_part_of_another(f.name))
    follower_.note(fmt::format("`{}` is not a function in all stages; it is compared in those that call it", f.name));
  else
    out_.alone.push_back(f.why.empty() ? f.name : f.name + " (" + f.why + ")");
}

bool TraceBisector::is_part_of_another(const std::string& name) const {
  return std::any_of(out_.compared.begin(), out_.compared.end(),
                     [&](const std::string& other) { return calls_function(first_->module->find(other), name); });
}

void TraceBisector::found_between(std::size_t good, std::size_t bad, const Program& good_program,
                                  const Program& bad_program) {
  out_.verdict = TraceBisection::Verdict::Found;
  out_.good = good;
  out_.bad = bad;
  out_.function = bad_program.function;
  out_.good_program = good_program;
  out_.bad_program = bad_program;
}

void TraceBisector::found_in_the_first() {
  out_.verdict = TraceBisection::Verdict::Found;
  follower_.tell_reasons();
}

void TraceBisector::look_behind_nan(const Tried& f) {
  const NanOnBoth* nan = follower_.only_nan(f.name);
  if (!nan || f.at.previous == kNoStage) return;
  out_.alone.push_back(fmt::format("{} ({})", f.name, to_string(*nan)));
  Point at;
  std::optional<Trace> last;
  for (const std::size_t stage : order_) {
    support::poll();
    Program ignored;
    const std::size_t before = at.previous;
    const Step step = follower_.attempt(stage, f.name, at, ignored);
    if (step == Step::Skipped || at.previous != stage) continue;
    Trace now = record(session_, at.program);
    if (step == Step::Agrees && last) {
      Comparison c = compare(session_.context(), *last, now, tolerances_);
      if (c.first) return found_on_the_way(before, stage, std::move(c), at);
    }
    last = std::move(now);
  }
}

void TraceBisector::found_on_the_way(std::size_t good, std::size_t bad, Comparison c, const Point& at) {
  found_between(good, bad, at.before, at.program);
  out_.behind_nan = true;
  c.verdict = Comparison::Verdict::Differs;
  c.why = to_string(c.nan);
  out_.comparison = std::move(c);
}

bool TraceBisector::agree_if_unchanged() {
  const bool fit = first_ && std::all_of(functions_.begin(), functions_.end(), [](auto& f) { return f.why.empty(); });
  if (!are_all_the_same(out_.stages) || asks_for_a_run(out_, what_, fit)) return false;
  out_.verdict = TraceBisection::Verdict::Agree;
  out_.why.clear();
  return true;
}

void TraceBisector::tell_nothing_compared(const std::vector<Tried>& functions) {
  out_.why = "no two stages could be compared";
  if (agree_if_unchanged()) return;
  if (is_one_program()) out_.why += ": those that can be run are one program";
  if (!what_.function.empty() && !find_public(first_->module, what_.function))
    out_.why = fmt::format("there is no public function `{}` in {}", what_.function, first_->file);
  const auto told = std::find_if(functions.rbegin(), functions.rend(), [](const Tried& f) { return !f.why.empty(); });
  if (told != functions.rend()) out_.why += ": " + told->why;
  out_.alone.clear();
}

void TraceBisector::tell_of_not_compared() {
  std::vector<const ir::Module*> modules;
  for (const Stage& s : out_.stages)
    if (s.module) modules.push_back(s.module);
  for (std::string& note : notes_of_not_compared(modules)) out_.notes.push_back(std::move(note));
}

void TraceBisector::tell_what_is_open() {
  std::size_t last = 0;
  for (std::size_t i = 0; i < out_.stages.size(); ++i)
    if (follower_.has_run(i)) last = i;
  std::vector<std::string> open = out_.alone;
  for (std::size_t i = last + 1; i < out_.stages.size(); ++i) {
    const Stage& s = out_.stages[i];
    const bool only_kernels = s.kernels && (!s.module || !s.completed_by.empty());
    if (!s.is_empty && !s.not_runnable.empty() && !only_kernels)
      open.push_back(fmt::format("{} ({})", s.file, s.not_runnable));
  }
  for (const KernelNotRun& k : out_.kernels_not_run)
    if (k.stage > last || follower_.stands_in(k.stage))
      open.push_back(fmt::format("`{}` from {} on ({})", k.kernel, out_.stages[k.stage].file, k.why));
  if (open.empty() && out_.in_doubt.empty()) return;
  out_.verdict = TraceBisection::Verdict::CannotTell;
  if (open.empty()) {
    out_.why = fmt::format("it cannot be told {}", fmt::join(out_.in_doubt, ", nor "));
    return;
  }
  constexpr std::size_t kShown = 6;
  const std::string more = open.size() > kShown ? fmt::format(" and {} more", open.size() - kShown) : "";
  if (open.size() > kShown) open.resize(kShown);
  out_.why = fmt::format("nothing that was run differs, but these were not run: {}{}", fmt::join(open, ", "), more);
}

std::vector<Finding> TraceBisector::memory_of(const Trace& trace, bool unwritten) {
  Sanitizers which;
  which.storage = true;
  which.unwritten = unwritten;
  return sanitize(trace, which);
}

void TraceBisector::look_at_last_memory(const std::string& name, const Point& end) {
  if (end.previous == kNoStage) return;
  std::vector<Finding> wrong = memory_of(record(session_, end.program), false);
  if (wrong.empty()) return;
  Program last = end.program;
  std::size_t bad = end.previous;
  for (std::size_t k = order_.size(); k-- > 0;) {
    support::poll();
    if (order_[k] >= bad) continue;
    Point at = end;
    Program ignored;
    const Step step = follower_.attempt(order_[k], name, at, ignored);
    if (step == Step::Skipped || step == Step::Differs) continue;
    auto findings = memory_of(record(session_, at.program), false);
    if (!findings.empty()) {
      bad = order_[k];
      last = at.program;
      wrong = std::move(findings);
      continue;
    }
    out_.memory = std::move(wrong);
    found_between(order_[k], bad, at.program, last);
    if (step == Step::Agrees) out_.comparison = compare(session_, at.program, last, tolerances_);
    return;
  }
  out_.memory.insert(out_.memory.end(), wrong.begin(), wrong.end());
}

void TraceBisector::look_at_storages(const Tried& function) {
  std::optional<StorageSizes> last;
  Program before;
  std::size_t good = kNoStage;
  for (const std::size_t stage : order_) {
    support::poll();
    if (!has_storages(out_.stages[stage].module) || Clock::now() - start_ > kTooMuch) continue;
    Point at = function.at;
    Program ignored;
    const Step step = follower_.attempt(stage, function.name, at, ignored);
    if (at.previous != stage || (step != Step::Agrees && step != Step::Anew)) continue;
    StorageSizes now = storage_sizes(session_, at.program);
    if (last && step == Step::Agrees)
      if (auto found = resized_storages(*last, now); !found.empty()) {
        out_.memory = std::move(found);
        found_between(good, stage, before, at.program);
        return;
      }
    last = std::move(now);
    before = at.program;
    good = stage;
  }
}

bool TraceBisector::is_one_program() const {
  return order_.size() == 1 && std::count_if(out_.stages.begin(), out_.stages.end(), can_run) > 1;
}

}  // namespace rldb::repro
