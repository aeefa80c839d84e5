// rldb compare A [B]: two programs on the same inputs.
#include "rldb/repro/compare.h"

#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_run.h"
#include "ui/batch/batch.h"

namespace rldb::ui {

namespace {

int exit_code(repro::Comparison::Verdict verdict) {
  using Verdict = repro::Comparison::Verdict;
  return verdict == Verdict::Equal ? kGood : verdict == Verdict::Differs ? kFailed : kCannotTell;
}

// The module of a file; null: diagnosed.
const ir::Module* read(session::Session& session, const std::string& path, const CommandLine& line, Console& console) {
  if (!load(session, path, line, console)) return nullptr;
  if (session.module()) return session.module();
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::NoModuleInExecutable, path, "compare"));
  report(diagnostics, session, line, console);
  return nullptr;
}

}  // namespace

int batch_compare(const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (line.files.size() == 1 && line.passes.empty() && !line.other_engine) {
    diagnostics.add({}, source::message(diag::NothingToCompare));
    report(diagnostics, *session, line, console);
    return kUsage;
  }
  repro::Program a, b;
  a.label = line.files[0];
  a.module = read(*session, line.files[0], line, console);
  if (!a.module) return kBadText;
  a.function = line.function.empty() ? "main" : line.function;
  auto arguments = session->arguments(a.function, line.inputs, diagnostics);
  if (!arguments) {
    report(diagnostics, *session, line, console);
    return kUsage;
  }
  for (const session::Argument& argument : *arguments) a.args.push_back(argument.value);
  a.kernels = line.options.engine;
  b = a;
  b.kernels = line.other_engine.value_or(a.kernels);
  if (line.other_engine) b.label = fmt::format("{} with kernels by {}", a.label, session::to_string(b.kernels));
  if (line.files.size() == 2) {
    b.label = line.files[1];
    b.module = read(*session, line.files[1], line, console);
    if (!b.module) return kBadText;
  }
  if (!line.passes.empty()) {
    if (!session->run_passes(line.passes, diagnostics)) {
      report(diagnostics, *session, line, console);
      return kFailed;
    }
    b.module = session->module();
    b.label = fmt::format("{} after {}", b.label, line.passes);
  }
  const repro::Comparison result = repro::compare(*session, a, b, line.tolerances);
  if (line.format == Format::Json)
    console.print("{}\n", repro::to_json(result));
  else
    console.print("{}\n", repro::to_string(result, a.label, b.label));
  return exit_code(result.verdict);
}

}  // namespace rldb::ui
