// Random programs beside another compiler, and the scripts of what is found.
#include "ui/batch/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "rldb/repro/against.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/text.h"
#include "ui/batch/progress.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

constexpr double kUsualSeconds = 60;

int refuse(const source::Message& message, session::Session& session, const CommandLine& line, Console& console,
           int code) {
  source::Diagnostics diagnostics;
  diagnostics.add({}, message);
  return fail(diagnostics, session.sources(), line, console, code);
}

bool save_finding(const repro::AgainstFinding& f, bool is_first, session::Session& session, const CommandLine& line,
                  Console& console) {
  const auto in_folder = [&](const char* ending) {
    return (std::filesystem::path(line.output) / fmt::format("against-{:016x}{}", f.seed, ending)).string();
  };
  const std::string seen = repro::to_string(f);
  const ReproFile repro = repro_of_pipeline(line, session, f.module, f.question, seen);
  const auto python = [&](const std::string& path) {
    return save_tvm_script(path, line, session, f.module, f.question, f.symptom, seen, console);
  };
  if (!line.output.empty() && !write_repro(in_folder(".session"), repro, console)) return false;
  if (!line.output.empty() && !python(in_folder(".py"))) return false;
  if (is_first && !line.save_repro.empty() && !write_repro(line.save_repro, repro, console)) return false;
  return !is_first || line.tvm_script.empty() || python(line.tvm_script);
}

bool save_findings(const repro::AgainstReport& found, session::Session& session, const CommandLine& line,
                   Console& console) {
  std::error_code ignored;  // a missing folder is diagnosed when the first file is written
  if (!line.output.empty()) std::filesystem::create_directories(line.output, ignored);
  for (const repro::AgainstFinding& f : found.findings) {
    const session::Options before = session.options();
    if (f.default_dim > 0) session.options().default_dim = f.default_dim;
    const bool fine = save_finding(f, &f == found.findings.data(), session, line, console);
    session.options() = before;
    if (!fine) return false;
  }
  return true;
}

}  // namespace

static std::unique_ptr<repro::Partner> started(const CommandLine& line, std::string& why) {
  repro::PartnerOptions options = line.partner;
  options.jobs = line.jobs;
  if (line.seconds > 0) options.start_seconds = std::min(options.start_seconds, line.seconds);
  return repro::Partner::start(options, why);
}

std::unique_ptr<repro::Partner> start_partner(const CommandLine& line, session::Session& session, Console& console) {
  std::string why;
  auto partner = started(line, why);
  if (!partner)
    refuse(source::message(diag::PartnerOfNoUse, line.partner.command, why), session, line, console, kUsage);
  return partner;
}

int batch_against(const CommandLine& line, session::Session& session, const Job& job, Console& console) {
  if (job.helps()) {
    std::string why;
    const auto partner = started(line, why);
    repro::answer_against(session, partner.get(), why, line.tolerances, line.jobs, *job.ranks());
    return kGood;
  }
  const auto partner = start_partner(line, session, console);
  if (!partner) return kUsage;
  repro::AgainstOptions options;
  options.seed = line.options.seed;
  options.programs = line.fuzz.programs;
  options.seconds = line.seconds > 0 || line.fuzz.programs > 0 ? line.seconds : kUsualSeconds;
  options.jobs = line.jobs;
  options.ranks = job.ranks();
  options.tolerances = line.tolerances;
  Progress progress(console);
  options.progress = tell_findings(progress, console, options.seconds, options.programs);
  const repro::AgainstReport found = repro::fuzz_against(session, *partner, options);
  progress.clear();
  console.print("{}\n", line.format == Format::Json ? repro::to_json(found) : repro::to_string(found));
  if (!save_findings(found, session, line, console)) return kUsage;
  if (!found.broken.empty())
    return refuse(source::message(diag::PartnerOfNoUse, line.partner.command, found.broken), session, line, console,
                  kUsage);
  if (!found.findings.empty()) return kFailed;
  if (found.compared > 0) return kGood;
  return refuse(source::message(diag::CannotTell, "no program could be compared with the partner's"), session, line,
                console, kCannotTell);
}

}  // namespace rldb::ui
