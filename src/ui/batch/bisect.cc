// rldb bisect: which pass made a program wrong, of a pipeline or of a folder of IR files. rldb reduce: the smallest
// program with the same fault.
#include "rldb/repro/bisect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "rldb/ir/printer.h"
#include "rldb/repro/reduce.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_run.h"
#include "ui/batch/batch.h"
#include "ui/batch/relay.h"
#include "ui/batch/relay_machine.h"
#include "ui/batch/save_repro.h"
#include "ui/kernel_step.h"
#include "ui/text_diff.h"

namespace rldb::ui {

namespace {

int bisect_folder(const CommandLine& line, session::Session& session, Console& console) {
  using Verdict = repro::TraceBisection::Verdict;
  const bool json = line.format == Format::Json;
  Verdict verdict = Verdict::CannotTell;
  const repro::Followed what{line.function, line.inputs};
  if (line.traces.size() == 1) {
    const repro::TraceBisection found = repro::bisect_trace(session, line.traces[0], line.tolerances, what);
    console.print("{}\n", json ? repro::to_json(found) : repro::to_string(found, line.traces[0]));
    if (found.verdict == Verdict::Found && !line.save_repro.empty() &&
        !save_stages(found.good_program, found.bad_program, repro::to_string(found, line.traces[0]), line, session,
                     console))
      return kUsage;
    verdict = found.verdict;
  } else {
    const auto found = repro::bisect_two_traces(session, line.traces[0], line.traces[1], line.tolerances, what);
    console.print("{}\n", json ? repro::to_json(found) : repro::to_string(found, line.traces[0], line.traces[1]));
    verdict = found.verdict();
  }
  return verdict == Verdict::Agree ? kGood : verdict == Verdict::Found ? kFailed : kCannotTell;
}

// What the command line asks of a program; none: diagnosed.
std::optional<repro::Question> question_of(const CommandLine& line, session::Session& session, Console& console) {
  repro::Question q;
  source::Diagnostics diagnostics;
  q.kind = line.test_command.empty() ? line.oracle : repro::OracleKind::Command;
  q.command = line.test_command;
  q.passes = line.passes;
  q.function = line.function.empty() ? "main" : line.function;
  q.inputs = line.inputs;
  q.tolerances = line.tolerances;
  // A program may be wrong as it is: then there are no passes.
  if (!line.passes.empty())
    if (auto pipeline = passes::parse_pipeline(line.passes); !pipeline.ok())
      diagnostics.add({}, std::move(pipeline).error());
  if (!line.expected_output.empty())
    if (auto read = read_expected(line.expected_output, diagnostics))
      for (auto& [name, value] : *read) q.expected.push_back(std::move(value));
  if (!diagnostics.has_errors()) return q;
  report(diagnostics, session, line, console);
  return std::nullopt;
}

// The module of the file; null: diagnosed.
const ir::Module* module_of(const CommandLine& line, session::Session& session, const char* purpose, Console& console) {
  if (!load(session, line.files[0], line, console)) return nullptr;
  if (session.module()) return session.module();
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::NoModuleInExecutable, line.files[0], purpose));
  report(diagnostics, session, line, console);
  return nullptr;
}

void print_rewrite(const repro::PassBisection& found, const CommandLine& line, Console& console) {
  if (found.verdict != repro::PassBisection::Verdict::Found) return;
  const ir::Module* before = found.rewrite > 0 ? found.without : found.before;
  const ir::Module* after = found.rewrite > 0 ? found.with : found.after;
  if (!before || !after) return;
  const DiffOptions options = diff_options(line, console, STDOUT_FILENO);
  console.write(text_diff(ir::print(before, line.options.print), ir::print(after, line.options.print), "without",
                          "with", options));
}

int bisect_by_kernel(const CommandLine& line, session::Session& session, Console& console) {
  using Verdict = repro::KernelBisection::Verdict;
  const ir::Module* module = module_of(line, session, "bisect", console);
  if (!module) return kBadText;
  const auto question = question_of(line, session, console);
  if (!question) return kUsage;
  const repro::KernelBisection found = repro::bisect_kernels(session, module, *question);
  if (line.format == Format::Json) {
    console.print("{}\n", repro::to_json(found));
  } else {
    console.print("{}\n", repro::to_string(found));
    console.write(kernel_step_diff(found, line.options.print, diff_options(line, console, STDOUT_FILENO)));
  }
  if (found.verdict == Verdict::Found && !line.save_repro.empty() &&
      !write_repro(line.save_repro, repro_of_kernel(line, session, module, *question, repro::to_string(found)),
                   console))
    return kUsage;
  return found.verdict == Verdict::None ? kGood : found.verdict == Verdict::Found ? kFailed : kCannotTell;
}

int bisect_pipeline(const CommandLine& line, session::Session& session, Console& console) {
  using Verdict = repro::PassBisection::Verdict;
  const ir::Module* module = module_of(line, session, "bisect", console);
  if (!module) return kBadText;
  const auto question = question_of(line, session, console);
  if (!question) return kUsage;
  const repro::PassBisection found = repro::bisect_passes(session, module, *question);
  if (line.format == Format::Json) {
    console.print("{}\n", repro::to_json(found));
  } else {
    console.print("{}\n", repro::to_string(found));
    print_rewrite(found, line, console);
  }
  if (found.verdict == Verdict::Found && !line.save_repro.empty()) {
    // All of the pipeline: values are what they were before its first pass.
    const ReproFile repro = repro_of_pipeline(line, session, module, *question, repro::to_string(found));
    if (!write_repro(line.save_repro, repro, console)) return kUsage;
  }
  return found.verdict == Verdict::None ? kGood : found.verdict == Verdict::Found ? kFailed : kCannotTell;
}

}  // namespace

int batch_bisect(const CommandLine& line, Console& console) {
  const bool by_passes = line.traces.empty() && !line.by_kernel && line.files.size() == 1 && !line.to_relax;
  source::Diagnostics of_relay;
  if (const auto program = by_passes ? read_relay_program(line.files[0], of_relay) : nullptr)
    return batch_bisect_relay(*program, of_relay, line, console);
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (line.traces.size() == 1 || line.traces.size() == 2) return bisect_folder(line, *session, console);
  if (!line.files.empty() && line.by_kernel) return bisect_by_kernel(line, *session, console);
  if (!line.files.empty() && !line.passes.empty()) return bisect_pipeline(line, *session, console);
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::NothingToBisect));
  report(diagnostics, *session, line, console);
  return kUsage;
}

int batch_reduce(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  const ir::Module* module = module_of(line, *session, "reduce", console);
  if (!module) return kBadText;
  const auto question = question_of(line, *session, console);
  if (!question) return kUsage;
  repro::ReduceOptions options;
  options.jobs = line.jobs;
  options.seconds = line.seconds;
  const auto start = std::chrono::steady_clock::now();
  options.progress = [&](const repro::ProgramSize& size, std::size_t tried, const std::string& move) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!move.empty())
      console.print_error("{} after {} tries, {:.1f} s ({})\n", repro::to_string(size), tried, seconds, move);
  };
  const repro::Reduction r = repro::reduce(*session, module, *question, options);
  if (!r.module) {
    console.print_error("cannot tell: {}\n", r.why);
    return kCannotTell;
  }
  console.print_error("{} -> {}{}\n", repro::to_string(r.before), repro::to_string(r.after),
                      r.complete ? "" : " (stopped before the end)");
  console.print_error("symptom: {}: {}\n", r.symptom.kind, r.symptom.text);
  if (!r.passes.empty()) console.print_error("passes: {}\n", r.passes);
  for (const std::string& input : r.inputs) console.print_error("input: {}\n", input);
  if (!line.save_repro.empty()) {
    repro::Question simpler = *question;
    simpler.passes =
        question->command.empty() ? r.passes : std::string();  // the command is asked about the module itself
    simpler.inputs = r.inputs;
    const std::string seen = fmt::format("symptom: {}: {}", r.symptom.kind, r.symptom.text);
    if (!write_repro(line.save_repro, repro_of_pipeline(line, *session, r.module, simpler, seen), console))
      return kUsage;
  }
  ir::PrintOptions print = line.options.print;
  print.show_meta = true;
  return write_output(line.output, ir::print(r.module, print) + "\n", console) ? kGood : kUsage;
}

}  // namespace rldb::ui
