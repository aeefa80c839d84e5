// rldb fuzz: random programs through passes and engines.
#include "rldb/repro/fuzz.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "rldb/relay/passes/pass.h"
#include "rldb/repro/generate.h"
#include "rldb/repro/relay_fuzz.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/render/output_file.h"
#include "ui/batch/against.h"
#include "ui/batch/job.h"
#include "ui/batch/progress.h"
#include "ui/batch/save_repro.h"
#include "ui/batch/script_verdict.h"

namespace rldb::ui {

namespace {

constexpr double kSeconds = 60;
constexpr std::string_view kRelayPasses = "default";

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

// Runs the script as `rldb test` does: it has to fail for what was found.
void check_script(const std::string& path, const repro::FuzzFinding& f, const CommandLine& line, Console& console) {
  const ScriptVerdict verdict = verdict_of_script(line, path);
  if (!verdict.shows_fault)
    console.print("{}: the script does not fail: the fault may depend on more than the program\n", path);
  else if (!f.symptom.pass.empty() && verdict.output.find(f.symptom.pass) == std::string::npos)
    console.print("{}: the script fails, but not in {}\n", path, f.symptom.pass);
}

// Programs with inputs and values, as many as the line says.
int write_programs(session::Session& session, const CommandLine& line, Console& console) {
  constexpr std::size_t kPrograms = 100;
  std::error_code ignored;
  std::filesystem::create_directories(line.fuzz.write_to, ignored);
  const std::size_t wanted = line.fuzz.programs > 0 ? line.fuzz.programs : kPrograms;
  std::size_t written = 0, left_out = 0;
  for (std::uint64_t seed = line.options.seed; written < wanted && left_out < wanted; ++seed) {
    support::poll();
    const auto program = repro::generate(session, seed);
    const std::string stem = (std::filesystem::path(line.fuzz.write_to) / fmt::format("fuzz-{:016x}", seed)).string();
    const auto result = program ? repro::write_program(session, *program, stem) : repro::WrittenProgram{};
    ++(result.files.empty() ? left_out : written);
    if (!result.why.empty()) console.print_error("seed {}: {}\n", seed, result.why);
  }
  console.print("wrote {} to {}\n", support::counted(written, "program"), line.fuzz.write_to);
  return written == wanted ? kGood : kFailed;
}

// Writes each finding to the folder of the line, the first one to its file. False: diagnosed.
bool save(const repro::FuzzReport& found, session::Session& session, const CommandLine& line, Console& console) {
  std::error_code ignored;  // a missing folder is diagnosed when the first file is written
  if (!line.output.empty()) std::filesystem::create_directories(line.output, ignored);
  for (std::size_t i = 0; i < found.findings.size(); ++i) {
    const repro::FuzzFinding& f = found.findings[i];
    const ReproFile repro = repro_of_finding(f, session, line);
    const std::string name = fmt::format("fuzz-{:016x}.session", f.seed);
    if (!line.output.empty()) {
      const std::string path = (std::filesystem::path(line.output) / name).string();
      if (!write_repro(path, repro, console)) return false;
      check_script(path, f, line, console);
    }
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

// Each finding's program is written to the folder of the line.
int fuzz_relay_programs(session::Session& session, const CommandLine& line, const Job& job, Console& console) {
  repro::FuzzOptions options;
  options.ranks = job.ranks();
  options.passes = line.passes.empty() ? std::string(kRelayPasses) : line.passes;
  options.seed = line.options.seed;
  options.programs = line.fuzz.programs;
  options.seconds = line.seconds > 0 || line.fuzz.programs > 0 ? line.seconds : kSeconds;
  source::Diagnostics found;
  if (!pipeline::parse(relay::pass_table(), options.passes, session.sources(), found))
    return fail(found, session.sources(), line, console, kUsage);
  Progress progress(console);
  options.progress = tell_findings(progress, console, options.seconds, options.programs);
  const repro::RelayFuzzReport report = repro::fuzz_relay(session, options);
  progress.clear();
  if (job.helps()) return kGood;
  console.print("{}\n", repro::to_string(report));
  std::error_code ignored;  // a missing folder is diagnosed when the first file is written
  if (!line.output.empty()) std::filesystem::create_directories(line.output, ignored);
  for (const repro::RelayFuzzFinding& f : report.findings) {
    const std::string name = fmt::format("fuzz-{:016x}.relay", f.seed);
    if (!line.output.empty() && !write_output((std::filesystem::path(line.output) / name).string(), f.program, console))
      return kUsage;
  }
  if (!report.findings.empty()) return kFailed;
  if (report.compared > 0 && report.translated > 0) return kGood;
  found.add({},
            source::message(diag::CannotTell, "no program could be run before and after the passes, and translated"));
  return fail(found, session.sources(), line, console, kCannotTell);
}

}  // namespace

int batch_fuzz(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  const Job job(line, console);
  if (!job.fine()) return kUsage;
  if (line.fuzz.relay) return fuzz_relay_programs(*session, line, job, console);
  if (!line.partner.command.empty()) return batch_against(line, *session, job, console);
  repro::FuzzOptions options;
  options.ranks = job.ranks();
  if (!line.passes.empty()) options.passes = line.passes;
  options.coverage = line.fuzz.coverage;
  options.seeds = line.fuzz.seed_folders;
  if (!line.fuzz.write_to.empty()) return job.helps() ? kGood : write_programs(*session, line, console);
  source::Diagnostics wrong;
  if (!pipeline::parse(passes::pass_table(), options.passes, session->sources(), wrong))
    return fail(wrong, session->sources(), line, console, kUsage);
  options.seed = line.options.seed;
  options.programs = line.fuzz.programs;
  options.seconds = line.seconds > 0 || line.fuzz.programs > 0 ? line.seconds : kSeconds;
  Progress progress(console);
  options.progress = tell_findings(progress, console, options.seconds, options.programs);
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
