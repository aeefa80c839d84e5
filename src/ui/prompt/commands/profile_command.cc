// `:profile`: a run with its times, operations, bytes and memory, by binding and by callee.
#include <nlohmann/json.hpp>

#include "rldb/debug/profile.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "rldb/ui/command_line/cache_folder.h"
#include "rldb/ui/prompt/start_run.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/profile_view.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

struct ProfileFlags {
  std::size_t runs = 1;
  bool counts = false;
  std::vector<std::string> devices;        // and their costs
  std::string json, trace, flame, memory;  // files
  std::string problem;
};

// Takes the options out of the words.
ProfileFlags take_profile_options(std::vector<std::string>& words) {
  ProfileFlags options;
  const std::pair<std::string_view, std::string*> files[] = {{"--json=", &options.json},
                                                             {"--trace=", &options.trace},
                                                             {"--flame=", &options.flame},
                                                             {"--memory=", &options.memory}};
  std::erase_if(words, [&](const std::string& word) {
    if (!word.starts_with("--")) return false;
    for (const auto& [name, file] : files)
      if (word.starts_with(name) && word.size() > name.size()) return *file = word.substr(name.size()), true;
    constexpr std::string_view kRuns = "--runs=";
    constexpr std::size_t kMostRuns = 1'000'000;
    constexpr std::string_view kSimulate = "--simulate=";
    if (word == "--counts") return options.counts = true;
    if (word.starts_with(kSimulate)) return options.devices.push_back(word.substr(kSimulate.size())), true;
    const auto runs = word.starts_with(kRuns) ? parse_count(std::string_view(word).substr(kRuns.size())) : std::nullopt;
    if (runs && *runs >= 1 && *runs <= kMostRuns) return options.runs = *runs, true;
    options.problem = word;
    return true;
  });
  return options;
}

Status write_profile_file(Repl& repl, const std::string& path, const std::string& text) {
  if (!repl.may_write(path, path)) return Status::Failed;
  const auto written = support::write_file(path, text);
  if (!written.ok()) return repl.fail(source::message(diag::FileNotWritten, path, written.error().reason));
  if (!repl.wants_json()) repl.print("wrote {}\n", path);
  return Status::Good;
}

Status show_profile(Repl& repl, const std::vector<debug::Profile>& profiles, const ProfileFlags& options) {
  const std::pair<const std::string*, std::string (*)(const std::vector<debug::Profile>&)> pictures[] = {
      {&options.trace, profile_trace}, {&options.flame, flame_svg}, {&options.memory, memory_timeline_svg}};
  if (repl.wants_json())
    repl.give(profile_json(profiles));
  else
    repl.console().write(profile_text(profiles, options.counts ? ProfileColumns::Counts : ProfileColumns::All));
  Status status = Status::Good;
  if (!options.json.empty()) status = write_profile_file(repl, options.json, profile_json(profiles).dump(1) + "\n");
  for (const auto& [path, make] : pictures)
    if (!path->empty() && status == Status::Good) status = write_profile_file(repl, *path, make(profiles));
  return status;
}

}  // namespace

ProfiledCall profile_call(Repl& repl, std::vector<std::string> words, std::size_t runs, bool rates,
                          std::vector<debug::DeviceCosts> devices) {
  if (repl.group && !needs(repl, "a profile of several ranks", session::kRanks)) return {};
  auto call = prepare_call(repl, std::move(words));
  if (!call) return {};
  debug::ProfileRequest request;
  request.function = call->function;
  request.arguments = std::move(call->by_rank);
  request.runs = runs;
  request.devices = std::move(devices);
  if (rates) request.peaks = debug::peak_rates(peak_rates_folder(repl.line().cache));
  source::Diagnostics diagnostics;
  std::vector<runtime::Value> results;
  ProfiledCall done{debug::profile_run(repl.session(), repl.group.get(), request, results, diagnostics)};
  done.completed = repl.report(diagnostics) == Status::Good;
  if (done.completed && !done.profiles.empty() && repl.rank < results.size() && !results[repl.rank].is_null()) {
    repl.last().value = results[repl.rank];
    repl.session().set_value("_", results[repl.rank]);
  }
  return done;
}

Status command_Profile(Repl& repl, std::string_view rest) {
  std::vector<std::string> words = split_values(rest);
  const ProfileFlags options = take_profile_options(words);
  if (!options.problem.empty()) return Status::Usage;
  auto devices = debug::parse_device_costs(options.devices);
  if (!devices.ok()) return repl.fail(devices.error());
  if (!devices->empty() && repl.session().options().engine == session::Engine::Eval)
    return repl.fail(source::message(diag::SimulationNeedsVm));
  const ProfiledCall done =
      profile_call(repl, std::move(words), options.runs, !options.counts, std::move(devices).value());
  if (done.profiles.empty()) return Status::Failed;
  const Status shown = show_profile(repl, done.profiles, options);
  return done.completed ? shown : Status::Failed;
}

}  // namespace rldb::ui
