// Everything that a run depends on, for its file.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/pipeline/history.h"
#include "rldb/session/relay_text.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/cpu.h"
#include "rldb/support/file.h"
#include "rldb/support/hash.h"
#include "rldb/ui/prompt/run_record.h"
#include "rldb/ui/render/version.h"

namespace rldb::ui {

namespace {

constexpr std::uint64_t kDigests = 16;

std::nullopt_t not_recorded(source::Diagnostics& out, std::string_view why) {
  out.add({}, source::message(diag::RunNotWritten, why));
  return std::nullopt;
}

// The last version up to the present one that no pass made.
std::size_t last_edit(const session::Program& program) {
  std::size_t v = program.position();
  while (v > 0 && !program.history().is_edit(v)) --v;
  return v;
}

// The text that was read, whose lines breakpoints name; empty: it is not at hand.
std::string text_as_read(session::Session& session) {
  const session::Program& program = *session.program();
  if (program.onnx()) return {};
  source::FileId file{};
  if (const session::RelayText* relay = session::relay_text(session.program())) {
    file = relay->source().file;
  } else if (const auto* m = program.history().module_at(0).as<ir::Module>()) {
    for (const ir::ModuleEntry& e : m->entries)
      if (const source::Span span = session.context().span_of(e.function)) file = span.file;
  }
  const source::Buffer* buffer = session.sources().find(file);
  return buffer && buffer->name() == program.path() ? std::string(buffer->text()) : std::string();
}

bool collect_program(session::Session& session, RunFile& run, source::Diagnostics& out) {
  const session::Program& program = *session.program();
  run.path = program.path().empty() ? std::string("<prompt>") : program.path();
  if (program.version_count() == 0) {
    run.path = run.path.substr(run.path.rfind('/') + 1);  // its lines are in no text
    auto bytes = session.serialise(out);
    if (bytes) run.program = std::move(*bytes);
    return bytes.has_value();
  }
  const std::size_t base = last_edit(program);
  if (base == 0) run.program = text_as_read(session);
  if (run.program.empty()) {
    const auto text = program.text(base, session::TextFor::Saving);
    if (!text) return not_recorded(out, "its program has no text"), false;
    run.program = *text;
    if (program.onnx()) run.path += ".py";
  }
  for (std::size_t v = base + 1; v <= program.position(); ++v)
    run.passes.push_back(pipeline::to_string(program.history().record(v).pass));
  if (const auto text = program.text(program.position(), session::TextFor::Comparing))
    run.text_hash = support::fnv1a(*text);
  return true;
}

void collect_options(const session::Options& o, RunFile& run) {
  run.engine = to_string(o.engine);
  run.machine = to_string(o.machine);
  for (const auto& [kernel, engine] : o.kernel_engines) run.kernel_engines.emplace_back(kernel, to_string(engine));
  run.fast_math = o.fast_math;
  run.check_accesses = o.check_accesses;
  run.check_bounds = o.check_bounds;
  run.schedule = o.schedule;
  run.poisoned_memory = o.poisoned_memory;
  run.bind_params = o.bind_params;
  run.opt_level = o.opt_level;
  run.seed = o.seed;
  run.default_dim = o.default_dim;
  run.dims = o.dims;
  for (const runtime::Device d : o.devices) run.devices.push_back(runtime::to_string(d));
}

// The state at the beginning, at some times on the way, and where the run is.
void collect_digests(const debug::Debugger& debugger, RunFile& run) {
  const std::uint64_t end = run.finished && run.time > 0 ? run.time - 1 : run.time;
  std::vector<std::uint64_t> times;
  for (std::uint64_t i = 0; i <= kDigests; ++i) {
    const std::uint64_t t = end / kDigests * i + end % kDigests * i / kDigests;
    if (times.empty() || times.back() != t) times.push_back(t);
  }
  for (const std::uint64_t t : times)
    if (const auto machine = debugger.machine_at(t); machine && machine->running())
      run.digests.emplace_back(t, state_digest(*machine));
}

// Breakpoints as they were asked for: their sites are found again.
void collect_points(const debug::Debugger& debugger, RunFile& run) {
  for (const auto& [number, b] : debugger.breakpoints()) {
    debug::Breakpoint kept = b;
    kept.sites.clear();
    kept.in_kernel.reset();
    run.breakpoints.push_back(std::move(kept));
  }
  for (const auto& [name, time] : debugger.checkpoints()) run.checkpoints.emplace_back(name, time);
}

}  // namespace

std::optional<RunFile> run_of(session::Session& session, const debug::Debugger& debugger, source::Diagnostics& out) {
  const debug::StopReport& stop = debugger.last_stop();
  if (!session.program() || stop.kind == debug::StopKind::None)
    return not_recorded(out, "there is no run: `:run` or `:start` begins one, on the engines `jit` and `vm`");
  if (debugger.outer_stop()) return not_recorded(out, "it is a call that an entry made in a stopped run");
  if (debugger.build() && debugger.build()->source != session.module())
    return not_recorded(out, "it does not run the present version of the program");
  auto arguments = debugger.run_arguments();
  if (!arguments) return not_recorded(out, "it keeps no history: " + debugger.why_no_history());
  RunFile run;
  run.made_by = kVersion;
  run.cpu = support::cpu_model();
  run.cpu_features = support::cpu_features();
  if (!collect_program(session, run, out)) return std::nullopt;
  collect_options(session.options(), run);
  run.function = debugger.run_function();
  run.arguments = std::move(*arguments);
  run.time = stop.time;
  run.finished = stop.kind == debug::StopKind::Finished;
  run.faulted = stop.kind == debug::StopKind::Fault;
  run.in_kernel = stop.in_kernel;
  collect_digests(debugger, run);
  collect_points(debugger, run);
  return run;
}

std::optional<WrittenRun> write_run(const std::string& path, const RunFile& run, source::Diagnostics& out) {
  const auto bytes = write_run_file(run, out);
  if (!bytes) return std::nullopt;
  const auto written = support::write_file(path, *bytes);
  if (written.ok()) return WrittenRun{bytes->size()};
  out.add({}, source::message(diag::FileNotWritten, path, written.error().reason));
  return std::nullopt;
}

}  // namespace rldb::ui
