// rldb fuzz: random programs through passes and engines.
#include "rldb/repro/fuzz.h"

#include <fmt/format.h>

#include <filesystem>

#include "rldb/source/diagnostic_command.h"
#include "ui/batch/batch.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

constexpr double kSeconds = 60;

bool save(const repro::FuzzFinding& f, const CommandLine& line, Console& console) {
  std::error_code error;
  std::filesystem::create_directories(line.output, error);
  CommandLine one = line;
  one.save_repro = (std::filesystem::path(line.output) / fmt::format("fuzz-{:016x}.session", f.seed)).string();
  return save_repro(one, f.module, f.passes, f.text, console);
}

}  // namespace

int batch_fuzz(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  repro::FuzzOptions options;
  if (!line.passes.empty()) options.passes = line.passes;
  if (auto pipeline = passes::parse_pipeline(options.passes); !pipeline.ok()) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, std::move(pipeline).error());
    report(diagnostics, *session, line, console);
    return kUsage;
  }
  options.seed = line.options.seed;
  options.programs = line.programs;
  options.seconds = line.seconds > 0 || line.programs > 0 ? line.seconds : kSeconds;
  std::size_t told = 0;
  options.progress = [&](std::size_t programs, std::size_t findings) {
    if (findings != told)
      console.print_error("{} finding{} in {} programs\n", findings, findings == 1 ? "" : "s", programs);
    told = findings;
  };
  const repro::FuzzReport found = repro::fuzz(*session, options);
  console.print("{}\n", repro::to_string(found));
  if (!line.output.empty())
    for (const repro::FuzzFinding& f : found.findings)
      if (!save(f, line, console)) return kUsage;
  if (!found.findings.empty()) return kFailed;
  if (found.compared > 0) return kGood;
  source::Diagnostics nothing;
  nothing.add({}, source::message(diag::CannotTell, "no program could be run before and after the passes"));
  report(nothing, *session, line, console);
  return kCannotTell;
}

}  // namespace rldb::ui
