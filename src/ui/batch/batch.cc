// Opening sessions, loading programs, and writing output for the batch commands.
#include "rldb/ui/batch/batch.h"

#include <fmt/format.h>

#include "rldb/session/program_kind.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/ui/command_line/subcommand.h"
#include "rldb/ui/prompt/run_record.h"
#include "rldb/ui/terminal/window_size.h"

namespace rldb::ui {

std::unique_ptr<session::Session> open_session(const CommandLine& line, Console& console) {
  auto session = std::make_unique<session::Session>(line.options, &console);
  for (const std::string& plugin : line.plugins) {
    source::Diagnostics diagnostics;
    const bool ok = session->load_plugin(plugin, diagnostics);
    report(diagnostics, session->sources(), line, console);
    if (!ok) return nullptr;
  }
  return session;
}

void report(const source::Diagnostics& diagnostics, const source::SourceManager& sources, const CommandLine& line,
            Console& console) {
  if (line.format == Format::Json)
    console.print("{}\n", source::render_json(diagnostics, sources));
  else
    console.diagnose(diagnostics, sources);
}

int fail(const source::Diagnostics& diagnostics, const source::SourceManager& sources, const CommandLine& line,
         Console& console, int code) {
  report(diagnostics, sources, line, console);
  return code;
}

namespace {

struct Need {
  std::string_view what;
  unsigned needs;
};

Need need_of(Subcommand subcommand) {
  using namespace session;
  switch (subcommand) {
    case Subcommand::Repl:
      break;
#define RLDB_SUBCOMMAND(id, name, handler, usage, needs, doc) \
  case Subcommand::id:                                        \
    return {"`rldb " name "`", needs};
#include "rldb/ui/command_line/subcommand.def"
  }
  return {"", 0};
}

// Options that not every kind of program can do: on another they would have no effect, or look as if all were well.
struct OptionNeed {
  std::string_view option;
  unsigned needs;
  bool (*given)(const CommandLine& line);
};
constexpr OptionNeed kOptionNeeds[] = {
    {"`--sanitize`", session::kModule, [](const CommandLine& line) { return line.run.sanitizers.any(); }},
    {"`--ranks`", session::kRanks, [](const CommandLine& line) { return line.run.ranks > 1; }},
    {"`--save-repro`", session::kModule,
     [](const CommandLine& line) { return !line.save_repro.empty() && line.subcommand != Subcommand::Opt; }},
    {"`--tvm-script`", session::kModule,
     [](const CommandLine& line) { return !line.tvm_script.empty() && line.compare.recorded.empty(); }},
    {"`--kernels`", session::kKernelFile, [](const CommandLine& line) { return !line.options.kernels_file.empty(); }},
    {"`--test-server`", session::kModule, [](const CommandLine& line) { return !line.partner.command.empty(); }},
    {"`--trust-kernels`", session::kKernelFile, [](const CommandLine& line) { return line.options.trust_kernels; }},
    {"`--plugin`", session::kPlugins, [](const CommandLine& line) { return !line.plugins.empty(); }},
    {"`-O`", session::kModule, [](const CommandLine& line) { return line.build.optimise; }},
    {"`--html`", session::kVersions, [](const CommandLine& line) { return !line.opt.html.empty(); }},
    {"`--memory-report`", session::kModule, [](const CommandLine& line) { return !line.opt.memory_report.empty(); }},
    {"`--rewriter`", session::kModule, [](const CommandLine& line) { return !line.opt.rewriters.empty(); }},
    {"`--by=kernel`", session::kModule, [](const CommandLine& line) { return line.bisect.by_kernel; }},
    {"`--oracle=memory`", session::kModule,
     [](const CommandLine& line) { return line.oracle == repro::OracleKind::Memory; }},
    {"`--oracle=time`", session::kModule,
     [](const CommandLine& line) { return line.oracle == repro::OracleKind::Time; }},
};

}  // namespace

int load(session::Session& session, const std::string& path, const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  if (is_run_file_at(path)) {
    diagnostics.add(
        {}, source::message(diag::BadArgument, fmt::format("`{}` is a recorded run: only the prompt opens it", path))
                .with_hint(fmt::format("`rldb {}`", path)));
    return fail(diagnostics, session.sources(), line, console, kUsage);
  }
  if (!session.load_file(path, diagnostics)) return fail(diagnostics, session.sources(), line, console, kBadText);
  int code = kGood;
  const auto check = [&](std::string_view what, unsigned needs, int refused) {
    auto refusal = session::missing_ability(what, needs, session);
    if (!refusal) return;
    diagnostics.add({}, *std::move(refusal));
    code = refused;
  };
  for (const OptionNeed& need : kOptionNeeds)
    if (need.given(line)) check(need.option, need.needs, kUsage);
  const Need need = need_of(line.subcommand);
  check(need.what, need.needs, kBadText);
  if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  return code;
}

DiffOptions diff_options(const CommandLine& line, const Console& console, int fd) {
  return diff_options(line.diff_layout, terminal_columns(fd), console.color());
}

}  // namespace rldb::ui
