// Runs as files: `:save-run`, `:note`.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/rank_job.h"
#include "rldb/ui/prompt/run_record.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

Json notes_json(Repl& repl) {
  Json rows = Json::array();
  for (const RunNote& note : repl.notes) rows.push_back({{"time", note.time}, {"text", note.text}});
  return rows;
}

// The part of the prompt, beside the debugger's run.
void add_session(Repl& repl, RunFile& run) {
  for (const session::NamedValue& v : repl.session().values().in_order()) {
    if (is_writable(v.value)) run.values.emplace_back(v.name, v.value);
  }
  for (const Display& d : repl.displays) run.displays.push_back({d.format, d.text});
  for (const RunNote& note : repl.notes) run.notes.emplace_back(note.time, note.text);
  for (const RunChange& c : repl.run_changes) run.changes.push_back({c.time, c.frame, c.entry});
  run.frame = repl.frame();
}

}  // namespace

Status command_SaveRun(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (repl.group || prompt_ranks())
    return repl.fail(source::message(diag::RunNotWritten, "it is one of several ranks"));
  if (std::any_of(repl.run_changes.begin(), repl.run_changes.end(), [](const RunChange& c) { return c.in_kernel; }))
    return repl.fail(source::message(diag::RunNotWritten, "it was changed inside of a kernel"));
  if (!repl.may_write(rest, rest)) return Status::Failed;
  source::Diagnostics diagnostics;
  auto run = run_of(repl.session(), repl.debugger(), diagnostics);
  if (!run) return repl.report(diagnostics), Status::Failed;
  add_session(repl, *run);
  const auto written = write_run(std::string(rest), *run, diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !written) return Status::Failed;
  if (repl.wants_json())
    return repl.give({{"file", rest}, {"bytes", written->bytes}, {"function", run->function}, {"time", run->time}});
  repl.print("wrote {} ({} bytes): {} at time {}{}\n", rest, written->bytes, run->function, run->time,
             run->notes.empty() ? "" : fmt::format(", {}", support::counted(run->notes.size(), "note")));
  return Status::Good;
}

Status command_Note(Repl& repl, std::string_view rest) {
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(notes_json(repl));
    if (repl.notes.empty()) repl.print("no notes\n");
    for (const RunNote& note : repl.notes) repl.print("@{}  {}\n", note.time, note.text);
    return Status::Good;
  }
  const debug::StopReport& stop = repl.debugger().last_stop();
  if (stop.kind == debug::StopKind::None) return repl.fail(source::message(diag::NotStopped));
  const auto behind =
      std::find_if(repl.notes.begin(), repl.notes.end(), [&](const RunNote& n) { return n.time > stop.time; });
  repl.notes.insert(behind, {stop.time, std::string(rest)});
  if (repl.wants_json()) return repl.give(notes_json(repl));
  repl.print("noted at time {}\n", stop.time);
  return Status::Good;
}

}  // namespace rldb::ui
