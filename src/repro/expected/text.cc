// The comparison with expected values as text and as JSON.
#include "rldb/support/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "repro/json_number.h"
#include "rldb/repro/expected.h"

namespace rldb::repro {

namespace {

std::string names_line(std::string_view what, const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  if (names.empty()) return {};
  const std::vector<std::string> some(names.begin(), names.begin() + std::ptrdiff_t(std::min(kMost, names.size())));
  const std::string more = names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "";
  return fmt::format("\n{}: {}{}", what, fmt::join(some, ", "), more);
}

std::string_view verdict_word(ExpectedComparison::Verdict v) {
  using Verdict = ExpectedComparison::Verdict;
  return v == Verdict::Agree ? "agree" : v == Verdict::Differs ? "differs" : "cannot tell";
}

std::string element_text(const TensorDifference& d) {
  return d.first.empty() ? std::string() : fmt::format("[{}]", fmt::join(d.first, ", "));
}

nlohmann::json difference_json(const ExpectedDifference& d) {
  nlohmann::json out{{"node", d.node},
                     {"op", d.op},
                     {"index", d.index},
                     {"value", d.value},
                     {"variable", d.variable},
                     {"text", to_string(d.difference)},
                     {"element", d.difference.first},
                     {"expected", json_number(d.difference.a)},
                     {"ours", json_number(d.difference.b)},
                     {"different", d.difference.different},
                     {"total", d.difference.total}};
  if (d.enough) out["enough_atol"] = *d.enough;
  return out;
}

}  // namespace

std::string to_string(const ExpectedComparison& c) {
  std::string text;
  if (c.first) {
    const ExpectedDifference& d = *c.first;
    text = fmt::format("{}: node {} ({}, number {}) is the first that differs: its output {}: {}", c.set, d.node, d.op,
                       d.index, d.value, to_string(d.difference));
    if (d.enough)
      text += fmt::format("\n  its differences are of the size of rounding: `--atol={:g}` lets them pass", *d.enough);
    text += "\n  the expected value is the first number";
    if (!d.variable.empty())
      text += fmt::format("\n  its value is `{0}` of the module: after a run on these inputs, `why {0}{1}`", d.variable,
                          element_text(d.difference));
    text += fmt::format("\n{} of {} differ{}; stop there: `:break node:{}`", c.differ,
                        support::counted(c.compared, "value"), c.differ == 1 ? "s" : "", d.node);
  } else if (c.verdict == ExpectedComparison::Verdict::Agree) {
    text = fmt::format("{}: all equal, of {} compared", c.set, support::counted(c.compared, "value"));
  } else {
    text = fmt::format("{}: cannot tell: {}", c.set, c.why);
  }
  text += names_line("inputs without a value, which were generated", c.made_up);
  text += names_line("inputs that decide a shape or an attribute, taken as constants", c.constants);
  text += names_line("not compared, since the translation computed them", c.without_value);
  return text + names_line("names that the model does not have", c.unknown);
}

std::string to_json(const std::vector<ExpectedComparison>& all) {
  nlohmann::json out = nlohmann::json::array();
  for (const ExpectedComparison& c : all) {
    out.push_back({{"set", c.set},
                   {"verdict", verdict_word(c.verdict)},
                   {"compared", c.compared},
                   {"differ", c.differ},
                   {"made_up", c.made_up},
                   {"constants", c.constants},
                   {"without_value", c.without_value},
                   {"unknown", c.unknown}});
    if (!c.why.empty()) out.back()["why"] = c.why;
    if (c.first) out.back()["first"] = difference_json(*c.first);
  }
  return out.dump(2);
}

}  // namespace rldb::repro
