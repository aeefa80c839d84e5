// The replay of a recorded run as text and as JSON.
#include "rldb/support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "repro/json_number.h"
#include "rldb/repro/recorded.h"

namespace rldb::repro {

using support::counted;

namespace {

std::string text_of_first(const RecordedDifference& d) {
  std::string text =
      fmt::format("call {}, `{}` (line {} of the index): {} differs: {}\n", d.call, d.name, d.line,
                  d.argument ? fmt::format("argument {}", *d.argument) : "the result", to_string(d.difference));
  text += "  the record is the first number, rldb on the recorded arguments the second: the fault is in this call\n";
  return text + fmt::format("  arguments: {}\n", fmt::join(d.arguments, ", "));
}

std::string text_of_skipped(const std::vector<SkippedCalls>& list, std::string_view what) {
  std::string text;
  for (const SkippedCalls& s : list)
    text += fmt::format("{}: {} of `{}`: {}\n", what, counted(s.calls, "call"), s.name, s.why);
  return text;
}

// One or more kinds of calls are different.
std::string text_of_counts(const RecordedReplay& r) {
  std::string text;
  for (const ReplayedCalls& c : r.replayed)
    if (c.different > 0)
      text += fmt::format("{}`{}`: {} of {}", text.empty() ? "" : ", ", c.name, c.different, c.calls);
  return text.empty() ? text : "calls that differ: " + text + "\n";
}

nlohmann::json json_of(const std::vector<SkippedCalls>& list) {
  auto out = nlohmann::json::array();
  for (const SkippedCalls& s : list)
    out.push_back({{"name", s.name}, {"why", s.why}, {"calls", s.calls}, {"computes_tensors", s.computes}});
  return out;
}

nlohmann::json json_of(const RecordedDifference& d) {
  nlohmann::json out = {{"call", d.call}, {"line", d.line}, {"name", d.name}, {"arguments", d.arguments}};
  out["argument"] = d.argument ? nlohmann::json(*d.argument) : nlohmann::json();
  out["text"] = to_string(d.difference);
  out["index"] = d.difference.first;
  out["recorded"] = json_number(d.difference.a);
  out["ours"] = json_number(d.difference.b);
  out["different"] = d.difference.different;
  out["total"] = d.difference.total;
  out["max_abs"] = json_number(d.difference.max_abs);
  out["max_rel"] = json_number(d.difference.max_rel);
  out["nan"] = {d.difference.nan_a, d.difference.nan_b};
  out["infinite"] = {d.difference.inf_a, d.difference.inf_b};
  return out;
}

const char* word_of(RecordedReplay::Verdict v) {
  using Verdict = RecordedReplay::Verdict;
  return v == Verdict::Agree ? "agree" : v == Verdict::Differs ? "differs" : "cannot tell";
}

}  // namespace

std::string to_string(const RecordedReplay& r) {
  std::string text;
  if (r.first) text += text_of_first(*r.first) + text_of_counts(r);
  if (!r.why.empty()) text += "cannot tell: " + r.why + "\n";
  if (r.verdict == RecordedReplay::Verdict::Agree) text += "the record agrees with rldb\n";
  text +=
      fmt::format("compared: {} of {} ({} of {}); {} only allocate or check\n", r.compared, counted(r.calls, "call"),
                  counted(r.kernel_calls, "call"), counted(r.kernels, "kernel"), r.without_values);
  if (r.largest > 0)
    text += fmt::format("largest difference of floats that agree: {:.3g} ({})\n", r.largest, r.largest_in);
  if (!r.made_by.empty()) text += fmt::format("kernels: made from the module by the pipeline `{}`\n", r.made_by);
  for (const auto& [theirs, ours] : r.renamed) text += fmt::format("`{}` of the record is `{}` here\n", theirs, ours);
  text += text_of_skipped(r.skipped, "not compared") + text_of_skipped(r.ours, "not compared");
  text.pop_back();
  return text;
}

std::string to_json(const RecordedReplay& r) {
  auto replayed = nlohmann::json::array();
  for (const ReplayedCalls& c : r.replayed)
    replayed.push_back({{"name", c.name}, {"calls", c.calls}, {"different", c.different}});
  auto renamed = nlohmann::json::array();
  for (const auto& [theirs, ours] : r.renamed) renamed.push_back({{"recorded", theirs}, {"ours", ours}});
  nlohmann::json out = {{"verdict", word_of(r.verdict)},
                        {"why", r.why},
                        {"calls", r.calls},
                        {"compared", r.compared},
                        {"kernels", r.kernels},
                        {"kernel_calls", r.kernel_calls},
                        {"without_values", r.without_values},
                        {"replayed", replayed},
                        {"skipped", json_of(r.skipped)},
                        {"compiled_wrongly_by_rldb", json_of(r.ours)},
                        {"renamed", renamed},
                        {"made_by", r.made_by},
                        {"largest_difference", {{"value", json_number(r.largest)}, {"where", r.largest_in}}}};
  out["first"] = r.first ? json_of(*r.first) : nlohmann::json();
  return out.dump(2);
}

}  // namespace rldb::repro
