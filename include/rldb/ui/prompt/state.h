// Repl: the state behind the prompt: session, debugger, display options, and the last result, which `:expect` checks.
//
// `execute` runs one entry (a command with its colon, a bare debugger verb while stopped, `?name`, `!shell`, or
// TVMScript) and returns how it went. It reads no input and knows no terminal, so the prompt, scripts, `-ex` and
// `.session` tests can share it. Command handlers are free functions over this class, grouped by file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/debugger.h"
#include "rldb/session/session.h"
#include "rldb/support/file_watch.h"
#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/prompt/command.h"
#include "rldb/ui/prompt/failed_names.h"
#include "rldb/ui/prompt/journal.h"
#include "rldb/ui/prompt/record.h"
#include "rldb/ui/prompt/value_history.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::session {
class Group;
}

namespace rldb::expression {
enum class Language : std::uint8_t;  // language.h
enum class NameKind : std::uint8_t;
}  // namespace rldb::expression

namespace rldb::ui {

// The result of the last entry, for `:expect`, `_` and the exit code.
struct LastResult {
  std::optional<runtime::Value> value;
  const ir::Type* type = nullptr;
  std::vector<std::string> errors;  // messages with their notes
  std::string output;               // everything it wrote
  bool failed = false;
  bool unreadable = false;  // an invalid expectation
  int exit_code = 0;        // exit code of a batch run that stops here
};

// The previous entry, for `:save-repro`: what it was given, and its fault.
struct LastEntry {
  debug::StoredEntry entry;
  std::string expectation;  // the `:expect` after it, if that failed
  std::string error;        // first line of the first one
  std::size_t version = 0;  // of the module before it
  std::string run;          // the `:run` or `:start` stopped before it; empty: none
  bool failed = false;
};

// An expression that is shown at each stop.
struct Display {
  int number = 0;
  char format = '\0';  // of print/FORMAT
  std::string text;
};

// A remark of the user at a time of the run (`:note`).
struct RunNote {
  std::uint64_t time = 0;
  std::string text;
};

// An entry that changed the run (`set x = 0`), the time at which it was given, and the frame that was selected.
struct RunChange {
  std::uint64_t time = 0;
  int frame = 0;
  bool in_kernel = false;
  debug::StoredEntry entry;
};

// From `:printer`: the entries that show values of a type.
struct ValuePrinter {
  std::string type;  // `tensor`, `tensor float32`, `tuple`, or the name of an object
  debug::StoredEntry body;
};

// An entry that says who wrote it: one that the user did not write is a script of its own within the text.
std::string with_author(const std::string& text, const debug::Author& author);

// An entry of the session for a script that repeats it.
struct KeptEntry {
  debug::StoredEntry entry;
  std::string in_script;  // as a script has it, with the text of the file that was read then; empty: as it was entered
};

class Screen;
// The lines of the text shown last with their colours: otherwise each step would parse the whole text again.
class PaintedSource {
 public:
  const std::string& line(source::FileId file, const source::Buffer& buffer, std::uint32_t number);

 private:
  source::FileId file_{};
  std::size_t hash_ = 0;  // of the text: another may have replaced it
  std::vector<std::string> lines_;
};

class Repl {
 public:
  Repl(const CommandLine& line, Console& console);
  ~Repl();

  Status execute(std::string_view entry);
  // An entry as a part of the one that is executed: it is not recorded by itself.
  Status perform(std::string_view entry) { return dispatch(entry); }
  // Does the work of one entry, whatever happens: if it is cancelled, runs out of memory or meets a bug, that is
  // reported and the entry has failed. `entry` is repeated in a bug report. `execute` does this for its entry.
  Status guard(std::string_view entry, const std::function<Status()>& work);
  // Does the work of one entry, with journal records before and after. `execute` does both for its entry.
  Status record(std::string_view entry, const std::function<Status()>& work);
  Replay replay_of(std::string_view entry) const;
  // Null: there is none.
  Journal* journal() { return journal_.get(); }
  void set_journal(std::unique_ptr<Journal> journal) { journal_ = std::move(journal); }
  // While muted nothing is shown: for repeated entries.
  void mute(bool on);
  // An empty line at the prompt: repeats a stepping command.
  Status repeat_last();
  bool can_repeat() const { return !repeatable_.empty(); }

  session::Session& session() { return *session_; }
  debug::Debugger& debugger() { return *debugger_; }
  Console& console() { return *console_; }
  LastResult& last() { return last_; }
  const CommandLine& line() const { return line_; }
  int& frame() { return frame_; }
  int exit_code() const { return exit_code_; }
  void set_exit_code(int code) { exit_code_ = code; }
  std::string prompt() const;
  const std::vector<KeptEntry>& entered() const { return entered_; }
  // The files that the command line opened, as entries with the texts that they had.
  const std::string& opened() const { return opened_; }
  void keep_opened(std::string_view entry) { opened_ += carried(entry) + "\n"; }
  // The entry, including the text of the module that it loads or reads again.
  std::string carried(std::string_view entry) const;
  // The same, with its author.
  std::string carried(const debug::StoredEntry& entry) const;
  const LastEntry& last_entry() const { return last_entry_; }

  // ---- for the handlers ----
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    console_->print(format, std::forward<Args>(args)...);
  }
  // `--format=json`: a command with kData passes its data to `give` instead of writing it.
  bool wants_json() const { return json_ != nullptr; }
  Status give(const nlohmann::ordered_json& data);
  // Writes `text`; a page shows `piece` instead.
  void show(std::string_view text, OutputPiece piece);
  // For pages alone.
  void keep(OutputPiece piece) { keep({}, std::move(piece)); }
  const SessionRecord& recorded() const { return record_; }
  // Output written until the end of the scope is of this kind.
  class Kind {
   public:
    Kind(Repl& repl, OutputKind kind);
    ~Kind();
    Kind(const Kind&) = delete;
    Kind& operator=(const Kind&) = delete;

   private:
    Repl& repl_;
    OutputKind before_;
  };
  // Writes the diagnostics and remembers them for `:expect error`. Returns Failed if there was an error.
  Status report(const source::Diagnostics& diagnostics);
  Status fail(source::Message message);
  // Which frames have the names of a text that could not be evaluated in the selected one.
  void tell_other_frames(std::string_view text);
  void show_value(const runtime::Value& value, std::string_view name = {});
  // By the entries of a printer of its type. False: there is none, it failed, or this is its own output.
  bool show_by_printer(const runtime::Value& value, std::string_view name);
  // Shows where the run stopped; the commands of the breakpoints that stopped it are carried out after the entry.
  Status show_stop(const debug::StopReport& stop);
  Status show_stop_in_call(const debug::StopReport& stop);
  // After the run of a call from the prompt: the run suspended by it is current again.
  void tell_return();
  // Runs the entries of a text; stops at the first failure not followed by an `:expect error`. `named`: the user named
  // the script when starting rldb; otherwise it asks before running foreign code.
  Status run_script(std::string_view text, const std::string& name, bool named = true);
  // Who wrote the current entry.
  const debug::Author& author() const { return author_; }
  // Until the end of the scope the entries executed were written by this one.
  class WrittenBy {
   public:
    WrittenBy(Repl& repl, debug::Author author)
        : repl_(repl), before_(std::exchange(repl.author_, std::move(author))) {}
    ~WrittenBy() { repl_.author_ = std::move(before_); }
    WrittenBy(const WrittenBy&) = delete;
    WrittenBy& operator=(const WrittenBy&) = delete;

   private:
    Repl& repl_;
    debug::Author before_;
  };
  // May the current entry do this (`run a shell`)? Asks when the user neither wrote it nor named its script, and
  // refuses with a diagnostic where there is nobody to ask.
  bool may(std::string_view what, std::string_view entry);
  // May it write this file? `-` is the terminal.
  bool may_write(std::string_view path, std::string_view entry);
  // May the stopped run be abandoned for `what`? Asks at a terminal; refused with a diagnostic elsewhere, unless the
  // command was given with a `!`. True if nothing is stopped.
  bool may_end_run(std::string_view what);
  // Gives a kernel that has been redefined to the stopped run, if that has it: later calls use its new form.
  void replace_in_run(std::string_view name);
  // The same for a command whose purpose is to end the run: only a user at a terminal is asked.
  bool may_give_run_up(std::string_view what);
  // The arguments of the last `:run` or `:start`, which the next one without arguments repeats.
  std::string last_call;
  // The last failure turned out to be expected.
  void forgive();
  // Asks the user at the terminal; empty: there is none.
  std::function<bool(const std::string&)> ask;
  // Waits for Enter from a user at the terminal; false: stop. Empty: there is none.
  std::function<bool()> go_on;
  // Sees all output piece by piece, in order and as it is written: as a page shows it, and as the terminal does (empty:
  // only pages show it). Empty: nobody does.
  std::function<void(const OutputPiece&, std::string_view text)> on_output;
  // Screen mode; null: the terminal does not support it.
  Screen* screen = nullptr;
  // From `:alias`: replacements for the first word of an entry.
  std::map<std::string, debug::StoredEntry, std::less<>> aliases;
  // From `:define`: entries that a word stands for.
  std::map<std::string, debug::StoredEntry, std::less<>> defined;
  std::vector<ValuePrinter> printers;
  // Of the present run.
  std::vector<RunNote> notes;
  std::vector<RunChange> run_changes;
  void begin_run() { notes.clear(), run_changes.clear(); }
  // The script whose entries are read one by one, not by `run_script`.
  std::string script_path;
  // The current entry is from the command line, or from the user's init file.
  bool on_command_line = false;
  // From `:watch-file`; null: off.
  std::unique_ptr<support::FileWatch> file_watch;
  // If the watched file has been written: reads it again, as an entry. Quit never.
  void follow_written_file();
  // The watched file has been written, and the run that was stopped then kept it from being read.
  bool written_file_waits = false;
  // The current entry turned out to change nothing: a script that repeats the session leaves it out.
  void leave_out() { left_out_ = true; }
  // The current entry is one that nobody typed: the watched file has been written.
  bool file_was_written = false;
  bool tells_of_no_change = true;  // false: `:reload` is part of another request
  // From `:ranks`: the workers of a run, and which of them runs at the prompt. Null: there is only one.
  std::unique_ptr<session::Group> group;
  // Entries of a killed session are executed again: what acts outside of the session is left out.
  bool repeating = false;
  std::size_t ranks = 1;
  std::size_t rank = 0;
  // Options of `:set`.
  bool highlight = true;
  bool hints = true;        // below an entry being typed
  bool suggestions = true;  // from the history, after the entry
  bool pager = true;
  std::optional<DiffLayout> diff_layout;  // none: by the width of the terminal
  std::size_t list_lines = 7;
  double timeout = 0;  // seconds for each entry, 0: none
  runtime::FormatOptions print_format;
  PaintedSource painted;
  std::vector<Display> displays;
  int next_display = 1;
  ValueHistory printed;

 private:
  class Tee;
  // The kind of an entry. `command` is null for a shell command, TVMScript, and unknown commands.
  struct Target {
    enum class Kind { Shell, Script, Command, Defined, Unknown, Misspelt, Unbound } kind;
    const Command* command = nullptr;
    std::string_view rest;
    // Unknown, Misspelt: the supposed name of a command; `rest` of Misspelt: a similar one; that of Unbound, whose word
    // is a name and a command: the entry that failed to bind it
    std::string_view word;
    bool forced = false;   // a `!` follows the name
    bool clashes = false;  // a verb; the function that is stopped will bind a variable of that name
  };
  // Shows whether an entry that failed changed anything.
  struct Moment {
    bool active;
    debug::StopKind stop;
    std::uint64_t time;
    std::size_t version, values;
    bool operator==(const Moment&) const = default;
  };
  // `execute` for a non-empty entry, once it has been recorded.
  Status execute_recorded(std::string_view entry);
  // Gives the session the printed values that the text names (`$1`).
  void lend_printed(std::string_view text);
  // The entry with its first word replaced by the text of an alias.
  // `author`: of the result, which is the user's only if both parts are.
  std::string without_alias(std::string_view entry, debug::Author& author) const;
  Target target_of(std::string_view entry) const;
  Target unbound_target(std::string_view word) const;
  Target bare_target(std::string_view entry, std::string_view word, std::string_view rest) const;
  bool is_value_name(std::string_view name) const;
  bool is_name_of_program(std::string_view name) const;
  std::size_t version_now() const;  // 0 without a program
  Moment moment() const;
  Status dispatch(std::string_view entry);
  // The state to which an abandoned entry returns.
  struct Before;
  Before before() const;
  void go_back(Before& before);
  Status run_command(const Command& command, std::string_view rest);
  // Takes `--format=FORMAT` off the text. False: diagnosed.
  bool choose_format(const Command& command, std::string_view& rest, bool& json);
  void tell(const source::Diagnostics& diagnostics);
  void keep(std::string_view text, OutputPiece piece);
  // Redirects output to `to`; null: to the console again. Returns where it went before.
  std::string* divert(std::string* to);
  void keep_for_json(const source::Diagnostics& diagnostics);
  // Refuses a program that lacks an ability that the command needs.
  Status run_handler(const Command& command, std::string_view rest);
  Status run_for_json(const Command& command, std::string_view rest);
  Status in_json(const Command* command, const std::function<Status()>& work);
  Status run_target(const Target& target);
  // Shows what a bare entry returns and defines: as text or as data.
  void show_result(const runtime::Value& value, std::string_view name = {});
  void show_defined(std::string_view name, std::string_view text);
  Status run_entry(std::string_view text);
  // Of an entry without a command.
  expression::Language language_of(std::string_view text) const;
  expression::NameKind kind_of_name(std::string_view name) const;
  Status run_expression(std::string_view text);
  bool names_value(std::string_view name) const;
  Status run_name(std::string_view name);
  std::optional<Status> run_to_binding(std::string_view name);
  void tell_verb(std::string_view name);
  bool show_of_finished(std::string_view name);
  Status run_loop(std::string_view text);
  Status assign_in_frame(std::string_view target, std::string_view expression, std::string_view kind);
  bool take_commands(const debug::StopReport& stop);
  void report_fault(const debug::StopReport& stop);
  Status tell_stop(const debug::StopReport& stop);
  Status give_stop(const debug::StopReport& stop);
  std::string on_the_stack(const session::EntryResult& result) const;
  Status run_shell(std::string_view command);
  Status run_shell_for_json(std::string_view command);
  // `bt | head`; nullopt: the entry is no such thing.
  struct Piped {
    std::string_view command, shell;
    std::string_view name;     // of the command
    std::string_view refusal;  // why its reply cannot be piped; empty: it can
  };
  std::optional<Piped> piped(std::string_view entry) const;
  Status run_piped(const Piped& piped);
  Status run_defined(std::string_view name, std::string_view rest);
  bool printing_ = false;  // by a printer

  CommandLine line_;
  SessionRecord record_;
  std::unique_ptr<Tee> tee_;
  Console* console_;
  std::unique_ptr<session::Session> session_;
  std::unique_ptr<debug::Debugger> debugger_;
  std::unique_ptr<Journal> journal_;
  LastResult last_;
  std::string repeatable_;
  struct JsonReply;
  JsonReply* json_ = nullptr;              // of the current command; null: it writes text
  bool text_asked_ = false;                // by `--format=text` behind it
  std::size_t replies_ = 0;                // objects that were written
  bool forced_ = false;                    // the current command was given with a `!`
  bool run_given_up_ = false;              // the user said so when the current entry asked
  std::vector<debug::StoredEntry> to_do_;  // commands of the breakpoints that have just stopped the run
  bool doing_ = false;                     // they are being executed
  Status carry_out();
  std::vector<KeptEntry> entered_;
  std::string opened_;
  bool left_out_ = false;
  FailedNames failed_names_;
  debug::StoredEntry failed_entry_;  // the last one, if it failed: `:expect error` may follow
  void note_change(RunChange change);
  void keep_entry(debug::StoredEntry entry, Status result, bool changed) noexcept;
  KeptEntry with_text(debug::StoredEntry entry) const;
  LastEntry last_entry_;
  void note_entry(std::string_view entry, std::size_t version, bool active, Status status);
  // Puts the folder of the current script for `${script}` in the first line of a command; nullopt: there is none.
  std::optional<std::string> with_script_folder(std::string_view entry) const;
  int frame_ = 0;
  int exit_code_ = 0;
  // The current script.
  struct Script {
    int depth = 0;
    std::string name;
  };
  Script script_;
  debug::Author author_;
  std::uint64_t completed_ = 0;  // entries that were not abandoned
};

}  // namespace rldb::ui
