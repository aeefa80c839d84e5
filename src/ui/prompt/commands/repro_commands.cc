// Commands that find the fault in a program, reduce the program, and save it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/planner.h"
#include "rldb/repro/program_passes.h"
#include "rldb/repro/reduce.h"
#include "rldb/repro/sanitize.h"
#include "rldb/repro/validate.h"
#include "rldb/session/default_function.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/kernel_step.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/text_diff.h"
#include "ui/prompt/commands/repro_flags.h"
#include "ui/prompt/commands/versions.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

// `PASSES [FUNCTION [VALUE...]]`, with options among the words. None: no words were given, or diagnosed.
std::optional<repro::Question> question_of(Repl& repl, std::vector<std::string> words, bool& usage) {
  const auto flags = take_repro_flags(repl, words);
  usage = flags && words.empty();
  if (!flags || usage) return std::nullopt;
  repro::Question q;
  q.kind = flags->test.empty() ? flags->oracle : repro::OracleKind::Command;
  q.command = flags->test;
  q.memory = flags->memory.value_or(repro::MemoryLimit());
  q.time = flags->time.value_or(repro::TimeLimit());
  q.expected = flags->expected;
  q.tolerances = flags->tolerances;
  q.function = flags->function;
  q.passes = words[0];
  if (words.size() > 1) q.function = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) q.inputs.push_back(words[i]);
  return q;
}

// Progress, which a console shows after a while.
repro::BisectProgress shown_by(Repl& repl) {
  return [&repl](std::size_t done, std::size_t count, std::string_view what) {
    repl.console().doing(fmt::format("{} of {}, {}", done, count, what));
  };
}

// Checks that the pipeline is valid.
bool can_ask(Repl& repl, const repro::Question& q) {
  source::Diagnostics diagnostics;
  const bool ok = repro::can_bisect(repl.session(), q, diagnostics);
  repl.report(diagnostics);
  return ok;
}

}  // namespace

Status command_Validate(Repl& repl, std::string_view rest) {
  const std::optional<std::size_t> before = rest.empty() ? previous_version(repl) : version_of(repl, std::string(rest));
  if (!before) return Status::Failed;
  const repro::Validation result = repro::validate_program(repl.session(), *before);
  const std::string name = repl.session().program()->version_name(*before);
  if (repl.wants_json()) {
    Json data = validation_json(result);
    data["version"] = *before;
    repl.give(data);
  }
  if (!result.difference.empty()) return repl.fail(source::message(diag::ValuesChanged, name, result.difference));
  if (repl.wants_json() && !result.compared.empty()) return Status::Good;
  if (!repl.wants_json() && !result.not_run.empty()) repl.print("not run: {}\n", fmt::join(result.not_run, ", "));
  if (!repl.wants_json() && !result.in_part.empty()) repl.print("in part: {}\n", fmt::join(result.in_part, ", "));
  if (result.compared.empty()) return repl.fail(source::message(diag::NothingCompared, name));
  repl.print("same values as {}: {}\n", name, fmt::join(result.compared, ", "));
  if (!result.unchanged.empty()) repl.print("unchanged since {}: {}\n", name, fmt::join(result.unchanged, ", "));
  return Status::Good;
}

// `--by=kernel [FUNCTION [VALUE...]]`
static Status bisect_by_kernel(Repl& repl, const std::vector<std::string>& words, const ReproFlags& flags) {
  repro::Question q;
  q.tolerances = flags.tolerances;
  q.passes = flags.passes;
  if (!needs(repl, "`:bisect --by=kernel`", session::kModule)) return Status::Failed;
  q.function = words.empty() ? flags.function : words[0];
  for (std::size_t i = 1; i < words.size(); ++i) q.inputs.push_back(words[i]);
  const repro::KernelBisection found =
      repro::bisect_kernels(repl.session(), repl.session().module(), q, shown_by(repl));
  using Verdict = repro::KernelBisection::Verdict;
  if (repl.wants_json()) repl.give(Json::parse(repro::to_json(found)));
  if (found.verdict == Verdict::CannotTell) return repl.fail(source::message(diag::CannotTell, found.why));
  if (!repl.wants_json()) repl.print("{}\n", repro::to_string(found));
  if (found.verdict == Verdict::None) return Status::Good;
  if (!repl.wants_json())
    repl.console().write(kernel_step_diff(found, repl.session().options().print, diff_options_of(repl)));
  return repl.fail(source::message(diag::KernelBringsFault, found.kernel, found.difference));
}

Status command_Bisect(Repl& repl, std::string_view rest) {
  std::vector<std::string> words = split_values(rest);
  if (std::find(words.begin(), words.end(), "--by=kernel") != words.end()) {
    const auto flags = take_repro_flags(repl, words);
    return flags ? bisect_by_kernel(repl, words, *flags) : Status::Failed;
  }
  bool usage = false;
  const auto q = question_of(repl, std::move(words), usage);
  if (!q) return usage ? Status::Usage : Status::Failed;
  if (!can_ask(repl, *q)) return Status::Failed;
  const repro::ProgramBisection found = repro::bisect_program(repl.session(), *q, shown_by(repl));
  using Verdict = repro::ProgramBisection::Verdict;
  if (repl.wants_json())
    repl.give(Json::parse(found.json));
  else if (found.verdict != Verdict::CannotTell)
    repl.print("{}\n", found.text);
  if (found.verdict == Verdict::Found) {
    if (!repl.wants_json()) show_difference(repl, found.without, found.with, "without", "with");
    return repl.fail(source::message(diag::PassBringsFault, found.pass, found.symptom.text));
  }
  return found.verdict == Verdict::None ? Status::Good : repl.fail(source::message(diag::CannotTell, found.why));
}

Status command_Reduce(Repl& repl, std::string_view rest) {
  bool usage = false;
  const auto q = question_of(repl, split_values(rest), usage);
  if (!q) return usage ? Status::Usage : Status::Failed;
  if (!can_ask(repl, *q)) return Status::Failed;
  repro::ReduceOptions options;
  options.progress = [&](const repro::ProgramSize& size, std::size_t tried, const std::string&) {
    repl.console().doing(fmt::format("{}, {}", repro::to_string(size), support::counted(tried, "try")));
  };
  const repro::ProgramReduction r = repro::reduce_program(repl.session(), *q, options);
  if (!r.found) return repl.fail(source::message(diag::CannotTell, r.why));
  if (repl.wants_json()) return repl.give(Json::parse(repro::to_json(r)));
  repl.print("{} -> {}\nsymptom: {}: {}\npasses: {}\n", repro::to_string(r.before), repro::to_string(r.after),
             to_string(r.symptom.kind), r.symptom.text, r.passes);
  return Status::Good;
}

Status command_Sanitize(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_values(rest);
  if (words.empty()) return Status::Usage;
  std::string wrong;
  const auto which = repro::parse_sanitizers(words[0], wrong);
  if (!which)
    return repl.fail(
        source::message(diag::BadOption, wrong, "sanitize").with_hint("values: " + repro::sanitizer_names()));
  repro::Program program;
  program.module = repl.session().module();
  program.function = words.size() > 1 ? words[1] : session::default_function(repl.session());
  program.kernels = repl.session().options().engine;
  source::Diagnostics diagnostics;
  const std::vector<std::string> values(words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), words.end());
  const auto arguments = repl.session().arguments(program.function, values, diagnostics);
  if (!arguments) return repl.report(diagnostics);
  for (const session::Argument& a : *arguments) program.args.push_back(a.value);
  auto [trace, findings] = repro::run_sanitized(repl.session(), program, *which);
  repro::name_planners(findings, repl.session().history());
  if (repl.wants_json())
    repl.give({{"checks", repro::to_string(*which)}, {"findings", Json::parse(repro::to_json(findings))}});
  for (const repro::Finding& f : findings) diagnostics.add({}, source::message(diag::MemoryFault, repro::to_string(f)));
  if (!trace.error.empty()) diagnostics.add({}, source::message(diag::RunFailed, trace.error));
  if (!trace.incomplete.empty()) diagnostics.add({}, source::message(diag::CannotTell, trace.incomplete));
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  if (!repl.wants_json()) repl.print("nothing was found\n");
  return Status::Good;
}

}  // namespace rldb::ui
