// `:resume`: restores a killed session from its journal.
#include "ui/prompt/entry/resume.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/visible.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file_system.h"
#include "rldb/support/memory.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/journal.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

void warn(Repl& repl, source::Message message) {
  source::Diagnostics diagnostics;
  diagnostics.add({}, std::move(message));
  repl.console().diagnose(diagnostics, repl.session().sources());
}

// Restores options and folder.
void apply(Repl& repl, const JournalHeader& header) {
  std::vector<std::string> arguments{"rldb"};
  arguments.insert(arguments.end(), header.arguments.begin(), header.arguments.end());
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  int exit_code = 0;
  if (const auto line = parse_command_line(int(argv.size()), argv.data(), exit_code)) {
    repl.session().options() = line->options;
    repl.session().options().keep_document = true;
    repl.timeout = line->timeout;
    if (line->max_memory > 0) support::set_memory_limit(line->max_memory);
  }
  if (::chdir(header.folder.c_str()) != 0)
    warn(repl, source::message(diag::FolderNotEntered, header.folder, support::error_text(errno)));
}

struct Counts {
  std::size_t repeated = 0;
  std::vector<std::string> left_out;  // entries that would act outside the session again
  std::vector<std::string> crashed;   // unfinished when repeated, too
};

std::string shown(const std::string& entry) {
  constexpr std::size_t kMost = 60;
  return source::visible(support::one_line(entry, kMost), {.line_breaks = false});
}

// Interrupted in an entry: true if the rest is repeated without it.
bool goes_on_without(Repl& repl, const std::string& entry) {
  if (!repl.ask) return false;
  support::clear_cancel();
  return repl.ask(fmt::format("interrupted in this entry: {}\nskip it and repeat the others? (y/n) ", shown(entry)));
}

// False: it was interrupted.
bool repeat(Repl& repl, const JournalItem& item, Journal& old, Counts& counts) {
  if (item.outcome == EntryOutcome::Failed) return true;
  if (repl.replay_of(item.entry.text) == Replay::Outside) {
    counts.left_out.push_back(support::one_line(item.entry.text));
    return true;
  }
  if (item.outcome == EntryOutcome::Unfinished) {
    if (item.tried) {
      counts.crashed.push_back(support::one_line(item.entry.text));
      return true;
    }
    old.mark_tried();
    if (repl.ask) repl.print("the session was killed in this entry, ^C skips it: {}\n", shown(item.entry.text));
  }
  const Repl::WrittenBy by(repl, item.entry.author);
  repl.mute(true);
  repl.repeating = true;
  const Status status = repl.execute(item.entry.text);
  repl.repeating = false;
  repl.mute(false);
  if (support::cancel_cause() == support::CancelCause::Interrupt) {
    if (!goes_on_without(repl, item.entry.text)) return false;
    counts.crashed.push_back(support::one_line(item.entry.text));
    return true;
  }
  ++counts.repeated;
  if (status == Status::Good || item.outcome == EntryOutcome::Changed) return true;
  const std::string why = repl.last().errors.empty() ? "it was refused" : repl.last().errors.front();
  warn(repl, source::message(diag::EntryNotRepeated, support::one_line(item.entry.text), support::one_line(why)));
  return true;
}

void tell(Repl& repl, const JournalHeader& header, const Counts& counts) {
  repl.print("resumed the session of {} in {}: {} repeated\n", time_text(header.started), header.folder,
             support::counted(counts.repeated, "entry"));
  if (!counts.left_out.empty())
    repl.print("not repeated, because it acts outside of the session: {}\n", fmt::join(counts.left_out, "; "));
  if (!counts.crashed.empty())
    repl.print("not repeated, because the session ended in it: {}\n", fmt::join(counts.crashed, "; "));
  if (!repl.debugger().active()) return;
  const debug::Position& where = repl.debugger().last_stop().where;
  repl.print("stopped at {}\n", describe_position(repl, where));
  if (!screen_shows_code(repl)) show_source_around(repl, where, repl.list_lines);
}

}  // namespace

bool offer_resume(Repl& repl) {
  const std::vector<KilledSession> killed = killed_sessions();
  if (killed.empty()) return false;
  const JournalHeader& newest = killed.front().header;
  repl.print("a session of {} in {} was killed: :resume restores it, :resume drop discards it{}\n",
             time_text(newest.started), newest.folder,
             killed.size() > 1 ? fmt::format("; older ones: {}", killed.size() - 1) : std::string());
  return true;
}

Status command_Resume(Repl& repl, std::string_view rest) {
  const bool drop = rest == "drop";
  if (!rest.empty() && !drop) return Status::Usage;
  const std::vector<KilledSession> killed = killed_sessions();
  if (killed.empty()) return repl.fail(source::message(diag::NothingToResume));
  bool in_use = false;
  const auto old = Journal::open_killed(killed.front().path, in_use);
  if (!old) return repl.fail(source::message(in_use ? diag::JournalInUse : diag::BadJournal, killed.front().path));
  const JournalHeader& header = killed.front().header;
  if (drop) {
    old->remove();
    repl.print("discarded the session of {} in {}\n", time_text(header.started), header.folder);
    offer_resume(repl);
    return Status::Good;
  }
  Journal* const ours = repl.journal();
  if (ours) ours->begin_batch();
  Counts counts;
  for (const JournalItem& item : old->items()) {
    if (item.header) {
      if (ours) ours->write_header(*item.header);
      apply(repl, *item.header);
    } else if (!repeat(repl, item, *old, counts)) {
      repl.print("interrupted; the journal of the session is kept\n");
      if (ours) ours->end_batch();
      return Status::Failed;
    }
  }
  tell(repl, header, counts);
  // Only when all of it is in this session's journal.
  if (!ours) return Status::Good;
  ours->end_batch();
  if (const std::string why = ours->take_problem(); !why.empty())
    warn(repl, source::message(diag::JournalNotKept, ours->path(), why));
  else
    old->remove();
  return Status::Good;
}

}  // namespace rldb::ui
