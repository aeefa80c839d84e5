// The report on a partner: the verdict first, then what has none.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rldb/ir/printer.h"
#include "rldb/repro/against.h"
#include "rldb/support/text.h"

namespace rldb::repro {

std::string to_string(const AgainstFinding& f) {
  std::string text = fmt::format("{}: {}", to_string(f.symptom.kind), f.symptom.text);
  if (!f.symptom.pass.empty()) text += fmt::format("\npass: {}, as the partner says", f.symptom.pass);
  if (f.dump) text += "\n" + to_string(*f.dump, "its dump");
  if (f.programs > 1) text += fmt::format("\nthe same in {} programs: seeds {}", f.programs, fmt::join(f.seeds, ", "));
  if (!f.minimal.empty()) text += "\n" + f.minimal;
  return text;
}

std::string to_string(const AgainstReport& r) {
  std::string text = fmt::format("{} against {}: {} compared, {}", support::counted(r.programs, "program"), r.partner,
                                 r.compared, support::counted(r.findings.size(), "finding"));
  std::string rest;
  const auto add = [&](std::size_t n, std::string_view what, const std::string& first) {
    if (n > 0)
      rest += fmt::format("{}{} {}{}", rest.empty() ? "" : "; ", n, what, first.empty() ? "" : " (" + first + ")");
  };
  add(r.not_run_here, "cannot be run here", r.why_not_run_here);
  add(r.refused, "refused by the partner", r.why_refused);
  add(r.not_lasting, "differ on some inputs only: rounding", {});
  if (!rest.empty()) text += "\nnot compared: " + rest;
  for (const AgainstFinding& f : r.findings)
    text += fmt::format("\n\nseed {}: {}\n{}", f.seed, to_string(f), ir::print(f.module));
  return text;
}

}  // namespace rldb::repro
