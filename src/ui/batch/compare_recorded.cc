// rldb compare MODULE --recorded DIR: the calls of a run of TVM, replayed one by one.
#include "ui/batch/compare_recorded.h"

#include "rldb/repro/recorded.h"
#include "rldb/session/program_kind.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/named_stage.h"
#include "ui/batch/progress.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

// The module, stage, or the kernels of an executable. Null: diagnosed.
const ir::Module* module_with_kernels_of(session::Session& session, const CommandLine& line, Console& console) {
  source::Diagnostics found;
  if (const auto stage = repro::parse_stage_name(line.files[0])) {
    const auto read = read_stage(session, *stage, found);
    report(found, session.sources(), line, console);
    return read ? read->stage().module : nullptr;
  }
  if (load(session, line.files[0], line, console) != kGood) return nullptr;
  if (session.module()) return session.module();
  if (const auto built = session.runnable(found); built && built->lowered && !built->lowered->entries.empty())
    return built->lowered;
  if (auto refusal = session::missing_ability("`--recorded`", session::kModule, session))
    found.add({}, *std::move(refusal));
  report(found, session.sources(), line, console);
  return nullptr;
}

// The option that has no meaning for a record, which has its own calls and values; empty: none was given.
std::string_view option_without_use(const CommandLine& line) {
  if (line.files.size() > 1) return "a second program";
  if (!line.inputs.empty()) return "--input";
  if (!line.function.empty()) return "--function";
  if (line.compare.other_engine) return "--other-engine";
  if (!line.compare.other_passes.empty()) return "--other-passes";
  if (line.compare.shadow) return "--shadow";
  if (!line.save_repro.empty()) return "--save-repro";
  return {};
}

}  // namespace

int compare_recorded(session::Session& session, const CommandLine& line, Console& console) {
  if (const std::string_view option = option_without_use(line); !option.empty()) {
    source::Diagnostics refused;
    refused.add({}, source::message(diag::BadArgument, fmt::format("--recorded: is not for {}", option)));
    return fail(refused, session.sources(), line, console, kUsage);
  }
  const ir::Module* module = module_with_kernels_of(session, line, console);
  if (!module) return kBadText;
  source::Diagnostics found;
  const bool is_executable = !repro::parse_stage_name(line.files[0]) && !session.module();
  session.set_program(module);
  if (!line.passes.empty() && !session.run_passes(line.passes, found))
    return fail(found, session.sources(), line, console, kUsage);
  repro::ReplayOptions options;
  options.tolerances = line.tolerances;
  options.made_by_rldb = is_executable;
  options.lower = line.passes.empty() && !is_executable;
  Progress progress(console);
  options.progress = [&](std::size_t done, std::size_t count, std::string_view what) {
    progress.show(double(done) / double(std::max<std::size_t>(count, 1)),
                  fmt::format("{} of {} calls, {}", done, count, what));
  };
  found.clear();
  const auto replay = repro::replay_recorded(session, session.module(), line.compare.recorded, options, found);
  progress.clear();
  if (!replay) return fail(found, session.sources(), line, console, kUsage);
  console.print("{}\n", line.format == Format::Json ? repro::to_json(*replay) : repro::to_string(*replay));
  using Verdict = repro::RecordedReplay::Verdict;
  if (replay->first && !line.tvm_script.empty() &&
      !save_tvm_script(line, *replay->first, repro::to_string(*replay), session, console))
    return kUsage;
  return replay->verdict == Verdict::Agree ? kGood : replay->verdict == Verdict::Differs ? kFailed : kCannotTell;
}

}  // namespace rldb::ui
