// A bisection as text for the reader.
#include "rldb/support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/repro/bisect.h"

namespace rldb::repro {

namespace {

constexpr std::size_t kMaxFindings = 5;

constexpr std::size_t kMaxReasons = 3;

// The stages that cannot be run in one line, by reason; all of them are in the JSON.
std::string not_run(const std::vector<Stage>& stages) {
  struct Group {
    std::string reason, first, last;
    std::size_t count = 0;
  };
  std::vector<Group> groups;
  for (const Stage& s : stages) {
    if (s.not_runnable.empty()) continue;
    const auto same = [&](const Group& g) { return g.reason == s.not_runnable; };
    auto it = std::find_if(groups.begin(), groups.end(), same);
    if (it == groups.end()) {
      groups.push_back({s.not_runnable, s.file, {}, 0});
      it = groups.end() - 1;
    }
    it->last = s.file;
    ++it->count;
  }
  std::string text;
  std::size_t more = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& g = groups[i];
    if (i >= kMaxReasons) {
      more += g.count;
      continue;
    }
    text += text.empty() ? "not run: " : "; ";
    text += g.count == 1 ? g.first : fmt::format("{} stages from {} to {}", g.count, g.first, g.last);
    text += fmt::format(" ({})", g.reason);
  }
  if (more > 0) text += fmt::format("; {} more", more);
  return text.empty() ? text : text + "\n";
}

// The first and the last stage that were completed.
std::string completed(const std::vector<Stage>& stages) {
  const Stage *first = nullptr, *last = nullptr;
  for (const Stage& s : stages) {
    if (s.completed_by.empty() || !s.not_runnable.empty()) continue;
    if (!first) first = &s;
    last = &s;
  }
  if (!first) return {};
  return fmt::format("note: PrimFuncs only, from {} to {}: run with the Relax functions of {}\n", first->file,
                     last->file, first->completed_by);
}

// Kernels that were not compared with their versions before, in one line; all of them are in the JSON.
std::string open_kernels(const TraceBisection& b) {
  if (b.verdict != TraceBisection::Verdict::Agree || b.kernels_not_run.empty()) return {};
  constexpr std::size_t kShown = 3;
  std::string text = "kernels left open: ";
  for (std::size_t i = 0; i < b.kernels_not_run.size() && i < kShown; ++i) {
    const KernelNotRun& k = b.kernels_not_run[i];
    text += fmt::format("{}`{}` from {} on ({})", i == 0 ? "" : ", ", k.kernel, b.stages[k.stage].file, k.why);
  }
  if (b.kernels_not_run.size() > kShown) text += fmt::format(" and {} more", b.kernels_not_run.size() - kShown);
  return text + "\n";
}

std::string passed_over(const TraceBisection& b) {
  if (b.verdict == TraceBisection::Verdict::Found || b.passed_over == 0) return {};
  return fmt::format("note: {} not run, because a later one agrees: a fault that it undoes would not show\n",
                     b.passed_over == 1 ? "1 stage was" : fmt::format("{} stages were", b.passed_over));
}

std::string first_ill_formed(const std::vector<Stage>& stages) {
  for (const Stage& s : stages)
    if (!s.ill_formed.empty()) return fmt::format("not well-formed from {} on: {}\n", s.file, s.ill_formed);
  return {};
}

// Passes that may be at fault too: their files could not be run.
std::string between(const TraceBisection& b) {
  std::string text;
  for (std::size_t i = b.good + 1; i < b.bad; ++i) {
    const Stage& s = b.stages[i];
    if (s.module && !s.not_runnable.empty()) text += (text.empty() ? "" : ", ") + s.pass;
  }
  return text;
}

// Without the last line break.
std::string of_kernel(const TraceBisection& b, const KernelDifference& k) {
  std::string text =
      fmt::format("the kernel `{}`, run by itself, computes other results (numbers: {})\n", k.kernel, k.numbers);
  if (k.large) text += "it shows where numbers are large: results that are finite on one side only\n";
  if (!k.dims.empty()) text += fmt::format("symbolic dims: {}\n", k.dims);
  const auto& [good, bad] = std::pair(b.stages[k.good].file, b.stages[k.bad].file);
  if (!k.why.empty()) return text + fmt::format("differs: {} vs {}: it fails: {}", good, bad, k.why);
  return text + fmt::format("differs: {} vs {}: `{}`: {}", good, bad, k.buffer,
                            k.difference ? to_string(*k.difference) : std::string("another value"));
}

std::string memory_of(const std::vector<Finding>& findings) {
  std::string text;
  for (std::size_t i = 0; i < findings.size() && i < kMaxFindings; ++i)
    text += "memory: " + to_string(findings[i]) + "\n";
  if (findings.size() > kMaxFindings) text += fmt::format("memory: {} more\n", findings.size() - kMaxFindings);
  return text;
}

}  // namespace

namespace {

// Of a bisection that found nothing.
std::string text_of_agreement(const TraceBisection& b, std::size_t runnable) {
  std::string text;
  if (b.verdict == TraceBisection::Verdict::CannotTell) text += "cannot tell: " + b.why + "\n";
  if (b.verdict == TraceBisection::Verdict::Agree) {
    if (b.compared.empty() && b.kernels_compared.empty())
      return fmt::format("no pass changed the program: its {} stages are all the same\n", b.stages.size());
    const char* which = runnable == b.stages.size() ? "all stages" : "all stages that can be run";
    const char* parts = b.anew.empty() ? "" : ", in parts that were not compared with each other";
    if (!b.compared.empty())
      text += fmt::format("{} agree on {}{}\n{}", which, fmt::join(b.compared, ", "), parts, memory_of(b.memory));
    if (b.by_themselves + b.not_by_themselves > 0)
      text += fmt::format("{} that changed {} too, each run by itself{}\n",
                          support::counted(b.by_themselves, "computation"), b.by_themselves == 1 ? "agrees" : "agree",
                          b.not_by_themselves ? fmt::format(" ({} not run: out of time)", b.not_by_themselves) : "");
  }
  if (!b.kernels_compared.empty())
    text +=
        fmt::format("{} that changed {}, each run by itself\n", support::counted(b.kernels_compared.size(), "kernel"),
                    b.kernels_compared.size() == 1 ? "agrees" : "agree");
  if (b.verdict == TraceBisection::Verdict::Agree && b.rounding)
    text += fmt::format("close, not equal: {} (`--exact` or smaller tolerances say what differs first): {}\n",
                        b.stages[b.rounding->first].file, to_string(b.rounding->second));
  return text;
}

std::string text_of_fault(const TraceBisection& b) {
  if (b.from_expected)
    return fmt::format("differs from the expected values: {}, before any pass of the folder: {}\n",
                       b.stages[*b.first_compared].file, to_string(*b.from_expected));
  const Stage& good = b.stages[b.good];
  const Stage& bad = b.stages[b.bad];
  std::string text = fmt::format("pass: {} ({}; {} {})\n", bad.pass, bad.file, good.file,
                                 b.lost_assertion ? "is stopped by an assertion" : "still agrees");
  if (const std::string others = between(b); !others.empty())
    text += fmt::format("or one in between that was not run: {}\n", others);
  text += fmt::format("function: {}\n", b.function);
  if (b.kernel) return text + of_kernel(b, *b.kernel) + "\n";
  if (!b.by_itself.empty())
    text +=
        fmt::format("the whole programs agree; `{}`, run by itself, does not (numbers: {})\n", b.by_itself, b.numbers);
  if (b.behind_nan) text += "the results are NaN on both sides; the difference is in the values before them\n";
  if (b.comparison.verdict != Comparison::Verdict::Differs)
    text += "the values agree on these inputs; memory is used wrongly from there on\n";
  if (b.large) text += "it shows where numbers are large: results that are finite on one side only\n";
  if (!b.dims.empty()) text += fmt::format("symbolic dims: {}\n", b.dims);
  if (b.by_itself.empty() && !b.large && !b.numbers.empty()) text += fmt::format("numbers: {}\n", b.numbers);
  if (b.comparison.verdict != Comparison::Verdict::CannotTell)
    text += to_string(b.comparison, good.file, bad.file) + "\n";
  return text + memory_of(b.memory);
}

}  // namespace

std::string to_string(const TraceBisection& b, std::string_view folder) {
  std::size_t runnable = 0;
  for (const Stage& s : b.stages) runnable += s.not_runnable.empty();
  std::string text = b.verdict == TraceBisection::Verdict::Found ? text_of_fault(b) : text_of_agreement(b, runnable);
  text += fmt::format("{}: {} stages, {} can be run\n", folder, b.stages.size(), runnable);
  if (b.first_compared && !b.from_expected)
    text += fmt::format("{} gives the expected values\n", b.stages[*b.first_compared].file);
  if (!b.unchanged.empty()) text += fmt::format("unchanged: {}\n", fmt::join(b.unchanged, ", "));
  if (!b.tried.empty()) text += "tried: " + to_string(b.tried) + "\n";
  text += open_kernels(b) + not_run(b.stages) + passed_over(b) + first_ill_formed(b.stages) + completed(b.stages);
  for (const std::string& f : b.alone) text += "not compared: " + f + "\n";
  for (const std::string& note : b.notes) text += "note: " + note + "\n";
  text.pop_back();
  return text;
}

std::string to_string(const FolderBisection& b, std::string_view first, std::string_view second) {
  std::string text = to_string(b.first, first) + "\n" + to_string(b.second, second);
  if (!b.both) return text;
  if (b.both->verdict == TraceBisection::Verdict::Agree) return text + "\nboth folders agree with each other";
  return text + "\none folder after the other:\n" + to_string(*b.both, "both");
}

std::string to_string(const PassBisection& b) {
  using Verdict = PassBisection::Verdict;
  // After the verdict: on which inputs it holds, and what was not compared.
  std::string rest = b.tried.empty() ? std::string() : "tried: " + to_string(b.tried) + "\n";
  if (!b.meant.empty())
    rest += fmt::format("note: compared anew after {}, which changes values by its nature\n", fmt::join(b.meant, ", "));
  for (const std::string& note : b.notes) rest += "note: " + note + "\n";
  if (!rest.empty()) rest.pop_back();
  const std::string after = rest.empty() ? rest : "\n" + rest;
  if (b.verdict == Verdict::CannotTell) return "cannot tell: " + b.why + after;
  if (b.verdict == Verdict::None)
    return (b.count == 1 ? std::string("the pass does not cause the symptom")
                         : fmt::format("none of {} passes causes the symptom", b.count)) +
           after;
  std::string text = fmt::format("pass: {} ({} of {})\n", passes::to_string(b.pass), b.index + 1, b.count);
  text += fmt::format("symptom: {}: {}\n", to_string(b.symptom.kind), b.symptom.text);
  if (b.unstable) text += "the pass is not deterministic: it gives a different program each time\n";
  if (b.rewrite > 0)
    text += fmt::format("rewrite: {} of {}: {}\n", b.rewrite, b.rewrites, b.rewrite_text);
  else if (b.rewrites > 0 && !b.unstable)
    text += fmt::format("rewrite: none of the {} that it counts\n", b.rewrites);
  if (!b.symptom.is_failure())
    for (const auto& [pass, why] : b.passed_by)
      text += fmt::format("or {}, whose result could not be compared: {}\n", pass, why);
  if (b.comparison) text += to_string(*b.comparison, "before", "after") + "\n";
  text.pop_back();
  return text + after;
}

}  // namespace rldb::repro
