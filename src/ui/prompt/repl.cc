// The main loop of the prompt: start-up files, -ex and -x, a pipe or the line editor, the journal.
#include "rldb/ui/prompt/repl.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <optional>

#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/ui/prompt/editor_hooks.h"
#include "rldb/ui/prompt/journal.h"
#include "rldb/ui/prompt/rank_job.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/run_record.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/version.h"
#include "rldb/ui/terminal/exit_code.h"
#include "rldb/ui/terminal/full_screen.h"
#include "rldb/ui/terminal/guarded.h"
#include "rldb/ui/terminal/line_editor.h"
#include "rldb/ui/terminal/screen_console.h"
#include "rldb/ui/terminal/signals.h"
#include "rldb/ui/terminal/typed_ahead.h"
#include "rldb/ui/terminal/window_size.h"
#include "ui/prompt/debug_panes.h"
#include "ui/prompt/dialogue.h"
#include "ui/prompt/entry/resume.h"
#include "ui/prompt/page_visits.h"
#include "ui/prompt/start_files.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

std::string history_path() {
  const std::string home = support::home_folder();
  return home.empty() ? home : home + "/.rldb_history";
}

// Opens files and plugins of the command line. kGood, or the exit code in batch mode.
int open_files(Repl& repl, const CommandLine& line) {
  int code = kGood;
  for (const std::string& plugin : line.plugins)
    if (repl.execute(":plugin " + plugin) == Status::Failed) code = kUsage;
  for (const std::string& file : line.files) {
    const std::string entry = ":load " + file;
    const auto load = [&] {
      if (is_run_file_at(file)) return open_run(repl, file);
      source::Diagnostics diagnostics;
      const bool ok = repl.session().load_file(file, diagnostics);
      if (const std::string_view near = ok || support::file_exists(file) ? "" : nearest_subcommand(file); !near.empty())
        diagnostics.add({}, source::message(diag::MeantCommand, near));
      repl.report(diagnostics);
      return ok ? Status::Good : Status::Failed;
    };
    // A recorded run is opened by an entry, which replies with its stop.
    const bool replies = line.format == Format::Json && is_run_file_at(file);
    const Status status = replies ? repl.execute(entry) : repl.record(entry, [&] { return repl.guard(entry, load); });
    if (status == Status::Good && !replies) repl.keep_opened(entry);
    if (status != Status::Good) code = repl.last().exit_code == kGood ? kBadText : repl.last().exit_code;
  }
  return code;
}

// The exit code of a batch run that stopped at the last entry.
int failure_code(Repl& repl) { return repl.last().exit_code == kGood ? kFailed : repl.last().exit_code; }

// -x and -ex in the order given. False: leave.
bool run_startup(Repl& repl, const CommandLine& line, int& code) {
  for (const auto& [is_file, text] : line.prompt.startup) {
    repl.on_command_line = true;
    const Status status = is_file ? repl.execute(":source " + text) : repl.execute(text);
    repl.on_command_line = false;
    if (status == Status::Quit) return false;
    if (status != Status::Good && code == kGood) code = failure_code(repl);
    if (status != Status::Good && line.prompt.batch) return false;
  }
  return true;
}

bool wait_for_enter(ScreenConsole& console) {
  const auto answer = console.read_line("-- Enter: continue, q: quit the tour -- ");
  return answer && !trim(*answer).starts_with('q');
}

bool is_yes(std::string_view answer) {
  const std::string_view word = trim(answer);
  return word == "y" || word == "yes";
}

// ^D leaves, but not a run that is stopped; a second one, in the place of an answer, does.
bool may_leave(ScreenConsole& console, Repl& repl) {
  if (!repl.ask || !repl.debugger().active()) return true;
  support::clear_cancel();
  repl.print("^D ends the run that is stopped at {}\n", describe_position(repl, repl.debugger().last_stop().where));
  const auto answer = console.read_line("continue? (y/n) ");
  return answer ? is_yes(*answer) : support::cancel_cause() != support::CancelCause::Interrupt;
}

// Yes or no. Anything but a `y` is a no, including the end of the input and ^C. The lines before the last are text
// like any other.
bool ask_terminal(ScreenConsole& console, Repl& repl, std::string_view question) {
  const std::size_t last = question.rfind('\n') + 1;
  repl.print("{}", question.substr(0, last));
  return is_yes(console.read_line(std::string(question.substr(last))).value_or(""));
}

int run_pipe(Repl& repl) {
  std::string text;
  char chunk[1 << 16];
  while (true) {
    const std::size_t n = std::fread(chunk, 1, sizeof chunk, stdin);
    if (n == 0) break;
    text.append(chunk, n);
  }
  const Status status = repl.run_script(text, "<stdin>", true);
  if (status != Status::Quit && !repl.line().prompt.batch) serve_until_interrupted(repl);
  return status == Status::Failed ? failure_code(repl) : repl.exit_code();
}

// A history that cannot be saved is reported once.
void remember(LineEditor& editor, const std::string& entry, Repl& repl) {
  static bool told = false;
  const std::string why = editor.remember(entry);
  if (why.empty() || told) return;
  told = true;
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::HistoryNotKept, history_path(), why));
  repl.console().diagnose(diagnostics, repl.session().sources());
}

// Limits rows of a tensor to the width of the terminal.
void fit_terminal(Repl& repl) {
  constexpr int kNarrowest = 20;
  const int columns = std::max(kNarrowest, window_size().width);
  repl.print_format.line_width = std::min(runtime::FormatOptions().line_width, columns);
}

// Pasted text may contain several entries; the first that fails is the last to run.
Status execute_all(Repl& repl, ScreenConsole& screen, const std::string& text) {
  std::vector<std::string> entries{text};
  (void)run_guarded([&] { entries = pasted_entries(text); }, 0);
  Status status = Status::Good;
  for (std::size_t i = 0; i < entries.size() && status == Status::Good; ++i) {
    screen.begin(entries[i], repl.pager);
    fit_terminal(repl);
    status = repl.execute(entries[i]);
    const std::size_t left = entries.size() - i - 1;
    if (status == Status::Failed && left > 0) repl.print("note: {}\n", stopped_here(left));
    if (status != Status::Quit) (void)run_guarded([&] { repl.follow_written_file(); }, 0);
    screen.end();
  }
  return status;
}

// The parts of screen mode, for as long as the session has a terminal for it.
struct ScreenMode {
  ScreenMode(Repl& repl, ScreenConsole& console)
      : console(console),
        screen(console.color()),
        panes(repl, screen),
        full(screen, [this] { (void)run_guarded([this] { panes.fill(); }, 0); }),
        repl(repl) {
    repl.screen = &screen;
    console.set_full_screen(&full);
  }
  ~ScreenMode() {
    full.leave();
    console.set_full_screen(nullptr);
    repl.screen = nullptr;
  }
  ScreenMode(const ScreenMode&) = delete;
  ScreenMode& operator=(const ScreenMode&) = delete;

  ScreenConsole& console;
  Screen screen;
  DebugPanes panes;
  FullScreen full;
  Repl& repl;
};

void add_screen_hooks(LineEditorHooks& hooks, Screen& screen) {
  hooks.screen_key = [&screen](KeyFunction function, std::string_view keys) { return screen.take(function, keys); };
  hooks.single_key = [&screen](char letter) { return screen.take_single(letter); };
}

// A ^C or ^\ that arrives between two entries belongs to neither: if it were left, it would cancel the next text that
// the prompt parses, and the session with it.
LineResult read_entry(LineEditor& editor, Repl& repl) {
  for (;;) {
    if (support::cancel_cause() == support::CancelCause::Interrupt) (void)take_typed_ahead();
    support::clear_cancel();
    try {
      return editor.read(repl.prompt());
    } catch (const support::Cancelled&) {
    }
  }
}

// One entry read at a terminal. Quit: leave.
Status execute_read(const LineResult& read, LineEditor& editor, Repl& repl, ScreenConsole& console,
                    const LineEditorHooks& hooks) {
  const EntryForPage shown;
  if (trim(read.text).empty()) {
    console.begin("", repl.pager);
    const Status status = repl.repeat_last();
    console.end();
    return status;
  }
  std::string text = hooks.clean(read.text);
  text.resize(text.find_last_not_of(" \t\n") + 1);  // the empty line that ended a block is not part of it
  if (text.empty()) return Status::Good;
  if (read.typed) remember(editor, text, repl);
  return execute_all(repl, console, text);
}

// `ended`: left normally, as opposed to being ended by a signal or by the loss of the terminal.
int run_loop(LineEditor& editor, Repl& repl, ScreenConsole& console, const LineEditorHooks& hooks, bool& ended) {
  SessionSignals signals;
  while (true) {
    const LineResult read = read_entry(editor, repl);
    if (read.kind == LineResult::Kind::End && may_leave(console, repl)) return repl.exit_code();
    if (read.kind == LineResult::Kind::End) continue;
    if (read.kind == LineResult::Kind::Terminated) {
      ended = false;
      return 128 + (SessionSignals::ended_by() != 0 ? SessionSignals::ended_by() : SIGHUP);
    }
    if (read.kind == LineResult::Kind::Cancelled) continue;
    if (read.kind == LineResult::Kind::TakenBack) {
      if (read.typed && !trim(read.text).empty()) remember(editor, hooks.clean(read.text), repl);
      (void)repl.fail(source::message(diag::Interrupted));
      continue;
    }
    try {
      if (execute_read(read, editor, repl, console, hooks) == Status::Quit) return repl.exit_code();
    } catch (const support::Cancelled&) {
      // Cancelled around the entry, whose own work is guarded.
    }
  }
}

int run_interactive(Repl& repl, const CommandLine& line, ScreenConsole& console, ScreenMode* mode, bool& ended) {
  LineEditorHooks hooks = editor_hooks(repl, console.color());
  if (mode) add_screen_hooks(hooks, mode->screen);
  OtherInput other(repl);
  hooks.other_input = [&other] { return other.descriptor(); };
  hooks.on_other_input = [&repl, &other, &console] {
    console.begin("", false);
    other.take();
    console.end();
    return repl.prompt();
  };
  auto editor = make_terminal_editor(hooks, history_path(), console.color(), mode ? &mode->full : nullptr);
  if (!line.prompt.quiet)
    console.print("rldb {}: a REPL and debugger for Relax IR. `:help` lists the commands.\n", kVersion);
  if (!line.prompt.resume) offer_resume(repl);
  return run_loop(*editor, repl, console, hooks, ended);
}

// A session at a terminal can be restored when it is killed.
void begin_journal(Repl& repl, const CommandLine& line) {
  char folder[PATH_MAX];
  JournalHeader header{line.prompt.arguments, ::getcwd(folder, sizeof folder) ? folder : "", std::time(nullptr)};
  std::string why;
  auto journal = Journal::create(header, why);
  if (journal) {
    repl.set_journal(std::move(journal));
    return;
  }
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::JournalNotKept, "the state folder", why));
  repl.console().diagnose(diagnostics, repl.session().sources());
}

// `ended`: left normally, as opposed to being ended by a signal or by the loss of the terminal.
int run_session(Repl& repl, const CommandLine& line, bool interactive, ScreenConsole& console, bool& ended) {
  int code = open_files(repl, line);
  if (code != kGood && line.prompt.batch) return code;
  std::optional<ScreenMode> mode;
  if (interactive && is_screen()) mode.emplace(repl, console);
  if (interactive)
    repl.ask = [&console, &repl](const std::string& question) { return ask_terminal(console, repl, question); };
  if (interactive) repl.go_on = [&console] { return wait_for_enter(console); };
  if (!line.prompt.no_init && !line.prompt.batch) read_start_files(repl);
  if (line.prompt.watch) repl.execute(":watch-file on");
  if (!run_startup(repl, line, code)) return code != kGood ? code : repl.exit_code();
  if (line.prompt.resume) repl.execute(":resume");
  if (line.prompt.batch && !line.prompt.startup.empty()) return code != kGood ? code : repl.exit_code();
  if (!interactive) {
    const bool dialogue = line.format == Format::Json && !line.prompt.batch;
    const int piped = dialogue ? run_dialogue(repl) : run_pipe(repl);
    return code != kGood ? code : piped;
  }
  return run_interactive(repl, line, console, mode ? &*mode : nullptr, ended);
}

}  // namespace

namespace {

struct Silent : runtime::Output {
  void write(std::string_view) override {}
};

// A rank without the prompt: it runs what rank 0 runs.
int serve_prompt(session::ProcessGroup& ranks, const CommandLine& line) {
  Silent silent;
  session::Session session(line.options, &silent);
  source::Diagnostics ignored;  // rank 0 reports them
  for (const std::string& plugin : line.plugins) session.load_plugin(plugin, ignored);
  ranks.serve(session);
  return kGood;
}

// The prompt is that of rank 0.
struct PromptRanks {
  explicit PromptRanks(session::ProcessGroup& ranks) : ranks(ranks) { set_prompt_ranks(&ranks); }
  ~PromptRanks() {
    set_prompt_ranks(nullptr);
    ranks.stop_serving();
  }
  PromptRanks(const PromptRanks&) = delete;
  PromptRanks& operator=(const PromptRanks&) = delete;
  session::ProcessGroup& ranks;
};

}  // namespace

int run_repl(const CommandLine& line, Console& console) {
  source::Diagnostics joining;
  const auto job = RankJob::join(line.run.groups, joining);
  if (!joining.all().empty()) console.diagnose(joining, {});
  if (joining.has_errors()) return kUsage;
  if (job && job->group().rank() > 0) return serve_prompt(job->group(), line);
  std::optional<PromptRanks> ranks;
  if (job) ranks.emplace(job->group());
  ScreenConsole screen(console);
  Repl repl(line, screen);
  if (job) repl.ranks = job->group().size();
  const bool interactive = ::isatty(STDIN_FILENO) && !line.prompt.batch;
  if (interactive || line.prompt.journal) begin_journal(repl, line);
  bool ended = true;
  const int code = run_session(repl, line, interactive, screen, ended);
  if (repl.journal() && ended && !console.lost()) repl.journal()->remove();
  return code;
}

}  // namespace rldb::ui
