#include "ui/batch/run_profile.h"

#include <nlohmann/json.hpp>

#include "rldb/debug/profile.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/command_line/cache_folder.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/profile_view.h"

namespace rldb::ui {

namespace {

// False: a file could not be written, which is diagnosed.
bool write_profile(const std::vector<debug::Profile>& profiles, const CommandLine& line, Console& console) {
  if (line.profile == "-")
    console.error(profile_text(profiles, ProfileColumns::All));
  else if (line.profile.ends_with(".json") &&
           !write_output(line.profile, profile_json(profiles).dump(1) + "\n", console))
    return false;
  else if (!line.profile.empty() && !line.profile.ends_with(".json") &&
           !write_output(line.profile, profile_text(profiles, ProfileColumns::All), console))
    return false;
  if (!line.profile_trace.empty() && !write_output(line.profile_trace, profile_trace(profiles), console)) return false;
  if (!line.profile_flame.empty() && !write_output(line.profile_flame, flame_svg(profiles), console)) return false;
  return line.profile_memory.empty() || write_output(line.profile_memory, memory_timeline_svg(profiles), console);
}

}  // namespace

std::optional<int> run_profiled(session::Session& session, session::Group* group, const std::string& function,
                                std::vector<std::vector<runtime::Value>> by_rank, const CommandLine& line,
                                Console& console, std::vector<runtime::Value>& results) {
  debug::ProfileRequest request;
  request.function = function;
  request.arguments = std::move(by_rank);
  request.runs = line.profile_runs;
  request.peaks = debug::peak_rates(peak_rates_folder(line.cache));
  source::Diagnostics diagnostics;
  const auto profiles = debug::profile_run(session, group, request, results, diagnostics);
  const bool timed_out = support::cancel_cause() == support::CancelCause::Timeout;
  if (timed_out) diagnostics.add({}, source::message(diag::TimedOut, line.timeout));
  if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  if (!profiles.empty() && !write_profile(profiles, line, console)) return kUsage;
  if (timed_out) return kTimeout;
  return diagnostics.has_errors() || profiles.empty() ? std::optional(kFailed) : std::nullopt;
}

}  // namespace rldb::ui
