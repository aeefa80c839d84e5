// rldb fuzz: random programs through passes and engines.
#include "rldb/repro/fuzz.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/text.h"
#include "rldb/ui/batch/batch.h"
#include "ui/batch/against.h"
#include "ui/batch/job.h"
#include "ui/batch/progress.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

constexpr double kSeconds = 60;

ReproFile repro_of_finding(const repro::FuzzFinding& f, session::Session& session, const CommandLine& line) {
  const session::Options before = session.options();
  session.options().default_dim = f.default_dim;
  ReproFile repro;
  if (f.passes.empty()) {  // the engines disagree on the unchanged program
    repro = repro_of(line, session.options(), f.module);
    repro.seen = f.text;
    repro.entry = ":validate";
    repro.expectations = {":expect not error \"values differ from\"", ":expect success"};
  } else {
    repro = repro_of_pipeline(line, session, f.module, f.question, f.text);
  }
  session.options() = before;
  return repro;
}

// Writes each finding to the folder of the line, the first one to its file. False: diagnosed.
bool save(const repro::FuzzReport& found, session::Session& session, const CommandLine& line, Console& console) {
  std::error_code ignored;  // a missing folder is diagnosed when the first file is written
  if (!line.output.empty()) std::filesystem::create_directories(line.output, ignored);
  for (std::size_t i = 0; i < found.findings.size(); ++i) {
    const repro::FuzzFinding& f = found.findings[i];
    const ReproFile repro = repro_of_finding(f, session, line);
    const std::string name = fmt::format("fuzz-{:016x}.session", f.seed);
    if (!line.output.empty() && !write_repro((std::filesystem::path(line.output) / name).string(), repro, console))
      return false;
    if (!line.tvm_script.empty()) {
      const std::string python = fmt::format("fuzz-{:016x}.py", f.seed);
      const std::string path = (std::filesystem::path(line.output) / python).string();
      const repro::Symptom symptom = f.symptom;
      const auto put = [&](const std::string& file) {
        return save_tvm_script(file, line, session, f.module, f.question, symptom, f.text, console);
      };
      if (i == 0 && !put(line.tvm_script)) return false;
      if (!line.output.empty() && !put(path)) return false;
    }
    if (i == 0 && !line.save_repro.empty() && !write_repro(line.save_repro, repro, console)) return false;
  }
  return true;
}

}  // namespace

int batch_fuzz(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  const Job job(line, console);
  if (!job.fine()) return kUsage;
  if (!line.partner.command.empty()) return batch_against(line, *session, job, console);
  repro::FuzzOptions options;
  options.ranks = job.ranks();
  if (!line.passes.empty()) options.passes = line.passes;
  if (auto pipeline = passes::parse_pipeline(options.passes); !pipeline.ok()) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, std::move(pipeline).error());
    report(diagnostics, session->sources(), line, console);
    return kUsage;
  }
  options.seed = line.options.seed;
  options.programs = line.programs;
  options.seconds = line.seconds > 0 || line.programs > 0 ? line.seconds : kSeconds;
  std::size_t told = 0;
  Progress progress(console);
  options.progress = [&](std::size_t programs, std::size_t findings) {
    const double by_time = options.seconds > 0 ? progress.seconds() / options.seconds : 0;
    const double by_count = options.programs > 0 ? double(programs) / double(options.programs) : 0;
    const std::string found = support::counted(findings, "finding");
    progress.show(std::max(by_time, by_count), fmt::format("{} programs, {}", programs, found));
    if (findings != told && !progress.on_terminal()) console.print_error("{} in {} programs\n", found, programs);
    told = findings;
  };
  const repro::FuzzReport found = repro::fuzz(*session, options);
  progress.clear();
  if (job.helps()) return kGood;
  if (!found.wrong_option.empty()) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::WrongPassOptions, options.passes, found.wrong_option));
    report(diagnostics, session->sources(), line, console);
    return kUsage;
  }
  console.print("{}\n", repro::to_string(found));
  if (!save(found, *session, line, console)) return kUsage;
  if (!found.findings.empty()) return kFailed;
  if (found.compared > 0) return kGood;
  source::Diagnostics nothing;
  nothing.add({}, source::message(diag::CannotTell, "no program could be run before and after the passes"));
  report(nothing, session->sources(), line, console);
  return kCannotTell;
}

}  // namespace rldb::ui
