// Opens a recorded run: the program, its options and values, the run itself, the debugger's points; then checks that it
// computes the same bits.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/session/program.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/cpu.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"
#include "rldb/support/hash.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/run_record.h"
#include "rldb/ui/render/version.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

void tell_not_restored(Repl& repl, std::string_view why) {
  source::Diagnostics warning;
  warning.add({}, source::message(diag::RunRestored, why));
  repl.report(warning);
}

// Permissions, and where kernels are kept, stay as this user has them.
bool restore_options(Repl& repl, const RunFile& run) {
  session::Options& o = repl.session().options();
  using session::Machine;
  const auto known = session::engine_named(run.engine);
  const bool relay = run.machine == to_string(Machine::Relay);
  if (!known || (!relay && run.machine != to_string(Machine::Relax))) return false;
  o.engine = *known;
  o.machine = relay ? Machine::Relay : Machine::Relax;
  o.kernel_engines.clear();
  for (const auto& [kernel, name] : run.kernel_engines)
    if (const auto e = session::engine_named(name)) o.kernel_engines[kernel] = *e;
  o.fast_math = run.fast_math;
  o.check_accesses = run.check_accesses;
  o.check_bounds = run.check_bounds;
  o.schedule = run.schedule;
  o.poisoned_memory = run.poisoned_memory;
  o.bind_params = run.bind_params;
  o.opt_level = int(std::clamp<std::int64_t>(run.opt_level, 0, 3));
  o.seed = run.seed;
  o.default_dim = run.default_dim;
  o.dims = run.dims;
  o.devices.clear();
  for (const std::string& device : run.devices)
    if (const auto known = runtime::parse_devices(device); known && known->size() == 1)
      o.devices.push_back(known->front());
  return o.devices.size() == run.devices.size();
}

// An executable is read from a file, of its name in a folder of its own.
bool restore_program(Repl& repl, const RunFile& run, source::Diagnostics& out) {
  session::Session& session = repl.session();
  if (run.text_hash != 0) {
    if (!session.load_text(run.path, run.program, out)) return false;
    for (const std::string& pass : run.passes)
      if (!session.program()->run_passes(pass, out)) return false;
    const auto text = session.program()->text(session.program()->position(), session::TextFor::Comparing);
    if (!text || support::fnv1a(*text) != run.text_hash)
      tell_not_restored(repl, "its program reads differently here: it was made by another version of rldb");
    return true;
  }
  const support::TemporaryFolder folder("run");
  const auto slash = run.path.rfind('/');
  const std::string name = slash == std::string::npos ? run.path : run.path.substr(slash + 1);
  const std::string path = fmt::format("{}/{}", folder.path(), name.empty() || name == ".." ? "program.rlvm" : name);
  if (const auto written = support::write_file(path, run.program); !written.ok()) {
    out.add({}, source::message(diag::FileNotWritten, path, written.error().reason));
    return false;
  }
  return session.load_file(path, out);
}

void restore_point(Repl& repl, const debug::Breakpoint& saved) {
  debug::Debugger& debugger = repl.debugger();
  source::Diagnostics found;
  // Numbers are given in order; those of deleted points are left out.
  for (;;) {
    const debug::Breakpoint* made = nullptr;
    switch (saved.kind) {
      case debug::PointKind::Break:
        made = debugger.add_breakpoint(saved.spec, saved.temporary, found);
        break;
      case debug::PointKind::Watch:
        made = debugger.add_watchpoint(saved.spec, 0, saved.every_activation, found);
        break;
      case debug::PointKind::Catch:
        made = debugger.add_catchpoint(saved.spec, found);
        break;
    }
    if (!made)
      return tell_not_restored(repl, fmt::format("{} {}: {}", kind_name(saved), saved.spec, found.first_error()));
    if (made->number < saved.number) {
      debugger.remove_breakpoint(made->number);
      continue;
    }
    debug::Breakpoint& b = *debugger.find_breakpoint(made->number);
    b.enabled = saved.enabled;
    b.ignore = saved.ignore;
    b.hits = saved.hits;
    b.commands = saved.commands;
    b.commands_by = saved.commands_by;
    b.frame = saved.frame;
    b.function = saved.function;
    b.entered = saved.entered;
    b.iterations = saved.iterations;
    bool good = saved.condition.empty() || debugger.set_condition(b.number, saved.condition, found);
    good = (saved.log.empty() || debugger.set_log(b.number, saved.log, found)) && good;
    if (!good) tell_not_restored(repl, fmt::format("{}: {}", saved.spec, found.first_error()));
    return;
  }
}

// Commands that came in the file have the rights of a script that the user did not write.
void mark_author(debug::Author& author, const std::string& path) {
  if (author.is_user()) author = {path, 1};
}

// Makes the changes again, each at its time. False: one of them did not change the run.
bool repeat_changes(Repl& repl, const RunFile& run, const std::string& path) {
  bool good = true;
  repl.mute(true);
  repl.repeating = true;
  for (const RunFile::Change& change : run.changes) {
    debug::Author author = change.entry.author;
    mark_author(author, path);
    const Repl::WrittenBy by(repl, author);
    const std::uint64_t before = repl.debugger().changes();
    if (repl.debugger().go_to(change.time).time == change.time && change.frame >= 0 &&
        std::size_t(change.frame) < repl.debugger().frames().size()) {
      repl.frame() = int(change.frame);
      if (repl.replay_of(change.entry.text) == Replay::Yes) (void)repl.perform(change.entry.text);
    }
    repl.run_changes.push_back({change.time, int(change.frame), false, {change.entry.text, author}});
    good = good && repl.debugger().changes() > before;
  }
  repl.repeating = false;
  repl.mute(false);
  return good;
}

struct Muted {
  explicit Muted(session::Session& session) : session(session) { session.mute(true); }
  ~Muted() { session.mute(false); }
  Muted(const Muted&) = delete;
  Muted& operator=(const Muted&) = delete;
  session::Session& session;
};

// To the place where it was stopped. False: diagnosed.
bool restore_run(Repl& repl, const RunFile& run, const std::string& path, source::Diagnostics& out) {
  debug::Debugger& debugger = repl.debugger();
  const Muted scope(repl.session());
  repl.begin_run();
  // A Relay module is compiled for a function, as when it was run.
  std::string ignored;
  (void)repl.session().program()->parameters(run.function, ignored);
  if (debugger.start(run.function, run.arguments, true, out).kind == debug::StopKind::None) return false;
  if (!repeat_changes(repl, run, path)) tell_not_restored(repl, "an entry that changed it has no effect here");
  for (const auto& [name, time] : run.checkpoints)
    if (debugger.go_to(time).time == time) debugger.set_checkpoint(name);
  if (run.finished || run.faulted)
    (void)debugger.resume();
  else if (debugger.last_stop().time != run.time)
    (void)debugger.go_to(run.time);
  return true;
}

// The first time at which the state is another one than in the file; nullopt: none is.
std::optional<std::uint64_t> first_difference(const debug::Debugger& debugger, const RunFile& run) {
  for (const auto& [time, digest] : run.digests) {
    const auto machine = debugger.machine_at(time);
    if (!machine || !machine->running() || state_digest(*machine) != digest) return time;
  }
  return std::nullopt;
}

void tell_difference(Repl& repl, const RunFile& run, std::uint64_t time) {
  const std::string features = feature_difference(run.cpu_features, support::cpu_features());
  std::string why = fmt::format("it was recorded on {}", run.cpu.empty() ? "an unknown CPU" : run.cpu);
  if (!features.empty())
    why += fmt::format(", and {}", features);
  else if (run.made_by != kVersion)
    why += fmt::format(", with the same features, by rldb {}", run.made_by);
  else
    why += ", with the same features: something that it calls returns other results";
  source::Diagnostics warning;
  warning.add({}, source::message(diag::RunDiffers, time, why));
  repl.report(warning);
}

void tell_missing_functions(Repl& repl) {
  if (!has_abilities(repl.session().program()->kind(), session::kPlugins)) return;  // its primitives are its own
  source::Diagnostics ignored;
  const auto build = repl.session().runnable(ignored);
  if (!build || !build->program) return;
  const auto missing = build->program->unresolved();
  if (!missing.empty())
    tell_not_restored(repl,
                      fmt::format("it calls `{}`, which {} not here: `:plugin` loads a library, then open it again",
                                  fmt::join(missing, "`, `"), missing.size() == 1 ? "is" : "are"));
}

}  // namespace

bool is_run_file_at(const std::string& path) { return is_run_file(support::first_bytes(path, kRunFileMagic.size())); }

Status open_run(Repl& repl, const std::string& path) {
  const auto bytes = support::read_file(path, runtime::memory_limit() / 2);
  if (!bytes.ok()) return repl.fail(source::message(diag::FileNotFound, path, bytes.error().reason));
  source::Diagnostics diagnostics;
  auto run = read_run_file(*bytes, path, diagnostics);
  if (!run) return repl.report(diagnostics);
  if (!restore_options(repl, *run))
    return repl.fail(source::message(diag::BadRunFile, path, "it names an unknown engine"));
  repl.debugger().kill();
  if (!restore_program(repl, *run, diagnostics)) {
    repl.report(diagnostics);
    return Status::Failed;
  }
  repl.report(diagnostics);
  diagnostics.clear();
  std::vector<int> old;
  for (const auto& [number, b] : repl.debugger().breakpoints()) old.push_back(number);
  for (const int number : old) repl.debugger().remove_breakpoint(number);
  for (auto& [name, value] : run->values) repl.session().set_value(name, value);
  tell_missing_functions(repl);
  if (!restore_run(repl, *run, path, diagnostics)) {
    repl.report(diagnostics);
    return Status::Failed;
  }
  for (debug::Breakpoint b : run->breakpoints) {
    mark_author(b.commands_by, path);
    restore_point(repl, b);
  }
  repl.displays.clear();
  repl.next_display = 1;
  for (const RunFile::Shown& d : run->displays) repl.displays.push_back({repl.next_display++, d.format, d.text});
  for (const auto& [time, text] : run->notes) repl.notes.push_back({time, text});
  repl.last_call = run->function;
  const auto difference = first_difference(repl.debugger(), *run);
  if (difference) tell_difference(repl, *run, *difference);
  if (!repl.wants_json()) {
    const bool same = run->cpu == support::cpu_model() && run->made_by == kVersion;
    repl.print("{}: a run of {}{}{}\n", path, run->function,
               same ? "" : fmt::format(", recorded by rldb {} on {}", run->made_by, run->cpu),
               difference ? "" : "; it computes the same bits here");
  }
  for (const RunNote& note : repl.notes) repl.print("note @{}: {}\n", note.time, support::one_line(note.text));
  if (run->in_kernel) repl.print("note: it was stopped inside of the kernel that is called next; `stept` enters it\n");
  const Status status = repl.show_stop(repl.debugger().last_stop());
  if (!run->finished && run->frame > 0 && std::size_t(run->frame) < repl.debugger().frames().size())
    repl.frame() = int(run->frame);
  return run->faulted ? Status::Good : status;
}

}  // namespace rldb::ui
