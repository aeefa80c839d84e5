#include "ui/batch/run_profile.h"

#include <nlohmann/json.hpp>

#include "rldb/debug/profile.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/command_line/cache_folder.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/profile_view.h"

namespace rldb::ui {

namespace {

// False: a file could not be written, which is diagnosed.
bool write_profile(const std::vector<debug::Profile>& profiles, const CommandLine& line, Console& console) {
  if (line.run.profile.tables == "-" || (line.run.profile.tables.empty() && !line.run.profile.simulate.empty()))
    console.error(profile_text(profiles, ProfileColumns::All));
  else if (line.run.profile.tables.ends_with(".json") &&
           !write_output(line.run.profile.tables, profile_json(profiles).dump(1) + "\n", console))
    return false;
  else if (!line.run.profile.tables.empty() && !line.run.profile.tables.ends_with(".json") &&
           !write_output(line.run.profile.tables, profile_text(profiles, ProfileColumns::All), console))
    return false;
  if (!line.run.profile.trace.empty() && !write_output(line.run.profile.trace, profile_trace(profiles), console))
    return false;
  if (!line.run.profile.flame.empty() && !write_output(line.run.profile.flame, flame_svg(profiles), console))
    return false;
  return line.run.profile.memory.empty() ||
         write_output(line.run.profile.memory, memory_timeline_svg(profiles), console);
}

}  // namespace

std::optional<int> run_profiled(session::Session& session, session::Group* group, const std::string& function,
                                std::vector<std::vector<runtime::Value>> by_rank, const CommandLine& line,
                                Console& console, std::vector<runtime::Value>& results) {
  debug::ProfileRequest request;
  request.function = function;
  request.arguments = std::move(by_rank);
  request.runs = line.run.profile.runs;
  request.peaks = debug::peak_rates(peak_rates_folder(line.cache));
  source::Diagnostics diagnostics;
  auto devices = debug::parse_device_costs(line.run.profile.simulate);
  if (!devices.ok()) {
    diagnostics.add({}, devices.error());
  } else if (!devices->empty() && session.options().engine == session::Engine::Eval) {
    diagnostics.add({}, source::message(diag::SimulationNeedsVm));
  }
  if (diagnostics.has_errors()) {
    report(diagnostics, session.sources(), line, console);
    return kUsage;
  }
  request.devices = std::move(devices).value();
  const auto profiles = debug::profile_run(session, group, request, results, diagnostics);
  const bool timed_out = support::cancel_cause() == support::CancelCause::Timeout;
  if (timed_out) diagnostics.add({}, source::message(diag::TimedOut, line.timeout));
  if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  if (!profiles.empty() && !write_profile(profiles, line, console)) return kUsage;
  if (timed_out) return kTimeout;
  return diagnostics.has_errors() || profiles.empty() ? std::optional(kFailed) : std::nullopt;
}

}  // namespace rldb::ui
