// Repl: dispatches one entry, guards it and, when it is abandoned, undoes it.
#include "rldb/ui/prompt/state.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>

#include "rldb/bytecode/serialise.h"
#include "rldb/expression/language.h"
#include "rldb/ir/printer.h"
#include "rldb/onnx/model.h"
#include "rldb/runtime/device_error.h"
#include "rldb/session/group.h"
#include "rldb/session/program_kind.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"
#include "rldb/support/memory.h"
#include "rldb/support/shell.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/entry_flags.h"
#include "rldb/ui/prompt/internal_report.h"
#include "rldb/ui/prompt/option.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/repro_file.h"
#include "rldb/ui/render/value_page.h"
#include "rldb/ui/terminal/exit_code.h"
#include "rldb/ui/terminal/guarded.h"
#include "ui/prompt/commands/info_topic.h"
#include "ui/prompt/entry/lost_tensor.h"
#include "ui/prompt/kernel_view.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

// Passes everything on and keeps a copy, for `:expect output`.
class Repl::Tee : public Console {
 public:
  Tee(Console& to, Repl& repl) : to_(to), repl_(repl) { set_color(to.color()); }
  void write(std::string_view text) override {
    if (diverted) {
      *diverted += text;
      return;
    }
    keep(text, kind);
    if (muted) return;
    if (kind == OutputKind::Text)
      to_.prose(text);
    else
      to_.write(text);
  }
  void error(std::string_view text) override {
    keep(text, OutputKind::Error);
    if (!muted) to_.error(text);
  }
  bool muted = false;
  bool recorded = true;
  std::string* diverted = nullptr;
  OutputKind kind = OutputKind::Text;
  bool lost() const override { return to_.lost(); }
  int columns() const override { return to_.columns(); }
  void doing(std::string_view what) override { to_.doing(what); }
  void pause() override { to_.pause(); }
  void resume() override { to_.resume(); }
  void without_pages() override { to_.without_pages(); }
  std::string take() { return std::exchange(text_, {}); }

 private:
  // A program that prints for hours must not fill up memory.
  static constexpr std::size_t kMost = std::size_t(16) << 20;
  void keep(std::string_view text, OutputKind as) {
    if (text_.size() < kMost) text_ += text;
    if (!recorded) return;
    repl_.record_.write(as, text);
    if (repl_.on_output && !muted && !text.empty()) repl_.on_output({as, std::string(text), {}, {}, {}}, text);
  }
  Console& to_;
  Repl& repl_;
  std::string text_;
};

Repl::Repl(const CommandLine& line, Console& console)
    : line_(line),
      tee_(std::make_unique<Tee>(console, *this)),
      console_(tee_.get()),
      session_(std::make_unique<session::Session>(line.options, tee_.get())),
      debugger_(std::make_unique<debug::Debugger>(*session_)) {
  session_->options().keep_document = true;  // it will be edited
  (void)commands();  // the table is made here: entries are looked at where nothing catches a failed allocation
  timeout = line.timeout;
}

Repl::~Repl() = default;

std::string* Repl::divert(std::string* to) { return std::exchange(tee_->diverted, to); }

Repl::Kind::Kind(Repl& repl, OutputKind kind) : repl_(repl), before_(std::exchange(repl.tee_->kind, kind)) {}
Repl::Kind::~Kind() { repl_.tee_->kind = before_; }

void Repl::keep(std::string_view text, OutputPiece piece) {
  if (on_output && !tee_->muted) on_output(piece, text);
  record_.add(std::move(piece));
}

void Repl::show(std::string_view text, OutputPiece piece) {
  struct Unrecorded {
    explicit Unrecorded(Tee& tee) : tee(tee) { tee.recorded = false; }
    ~Unrecorded() { tee.recorded = true; }
    Tee& tee;
  };
  keep(text, std::move(piece));
  const Unrecorded scope(*tee_);
  console_->write(text);
}

std::string Repl::prompt() const {
  if (!debugger_->active()) return "rldb> ";
  if (const std::string place = kernel_place(*debugger_); !place.empty()) return "(rldb " + place + ") ";
  const debug::Position& where = debugger_->last_stop().where;
  if (where.function.empty()) return "(rldb) ";  // of a process in which nothing runs now
  return "(rldb " + where.function + (where.binding.empty() ? "" : ":" + where.binding) + ") ";
}

Status Repl::execute(std::string_view entry) {
  if (file_watch && !file_was_written) follow_written_file();
  entry = trim(entry);
  const std::string_view code = behind_comments(entry);
  if (code.empty()) return Status::Good;
  if (code.data() != entry.data()) {  // in TVMScript each line counts, for its diagnostics
    const support::MemoryLimitExempt exempt;
    if (target_of(code).kind != Target::Kind::Script) entry = code;
  }
  if (console_->lost()) return Status::Quit;  // the output has no reader
  std::string meant;
  debug::Author writer = author_;
  if (!aliases.empty()) entry = meant = without_alias(entry, writer);
  const WrittenBy by(*this, std::move(writer));
  if (auto placed = with_script_folder(entry)) entry = meant = std::move(*placed);
  struct OnRecord {
    OnRecord(Repl& repl, std::string_view entry) : repl(repl) {
      const support::MemoryLimitExempt exempt;  // nothing catches it at this point
      repl.record_.begin(repl.prompt(), entry);
    }
    ~OnRecord() { repl.record_.end(failed); }
    Repl& repl;
    bool failed = true;
  } on_record(*this, entry);
  const Status status = execute_recorded(entry);
  on_record.failed = status == Status::Failed || status == Status::Usage;
  return status;
}

namespace {

bool is_printed_value(std::string_view name) {
  return name.size() > 1 && name[0] == '$' && name[1] >= '0' && name[1] <= '9';
}

}  // namespace

void Repl::lend_printed(std::string_view text) {
  // Lent before and given up since: its memory is not kept here either.
  std::vector<std::string> gone;
  for (const session::NamedValue& v : session_->values().starting_with("$"))
    if (is_printed_value(v.name) && !printed.find(v.name)) gone.push_back(v.name);
  for (std::string& name : gone) session_->set_value(std::move(name), {});
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at)) {
    std::size_t end = at + 1;
    if (end < text.size() && text[end] == '$')
      ++end;
    else
      while (end < text.size() && expression::is_name_byte(text[end])) ++end;
    const std::string_view name = text.substr(at, end - at);
    if (const runtime::Value* value = printed.find(name)) session_->set_value(std::string(name), *value);
    at = end;
  }
}

Status Repl::execute_recorded(std::string_view entry) {
  const std::size_t version = version_now();
  const bool active = debugger_->active();
  const bool checks = is_entry_of(entry, kChecks);
  const std::string_view text = entry;
  if (!checks) {
    last_ = {};
    tee_->take();
  }
  const auto work = [&] {
    lend_printed(entry);
    debug::StoredEntry kept{std::string(entry), author_};
    if (entered_.size() + 2 >= entered_.capacity()) entered_.reserve(2 * entered_.size() + 16);
    const Target target = target_of(text);
    const bool holds_entries = target.command && (target.command->flags & kEntries);
    const Moment start = moment();
    RunChange change{start.time, frame_, debugger_->last_stop().in_kernel, kept};
    const std::uint64_t changes = debugger_->changes();
    const std::size_t replies = replies_;
    Status result = dispatch(text);
    // `:source` of an empty script, a defined command that does nothing.
    const bool silent = line_.format == Format::Json && script_.depth == 0 && replies_ == replies && !text_asked_;
    if (silent) result = in_json(nullptr, [result] { return result; });
    if (const auto lost = runtime::take_device_error())  // nobody read it on purpose: copies for going back, watches
      result = fail(lost_tensor(*lost));
    if (start.active && debugger_->changes() > changes) note_change(std::move(change));
    if (!holds_entries) keep_entry(std::move(kept), result, !(moment() == start));  // can no longer fail
    return result;
  };
  // By reference: a std::function of such a lambda allocates memory, and nothing catches a failure at this point.
  const auto guarded = [&] { return guard(text, std::ref(work)); };
  const Status status = record(text, std::ref(guarded));
  if (!doing_ && !to_do_.empty()) {
    const Status done = carry_out();
    if (done == Status::Quit) return done;
  }
  if (!checks) {
    last_.output = tee_->take();
    last_.failed = status == Status::Failed || status == Status::Usage;
    if (last_.failed && last_.exit_code == kGood) last_.exit_code = kFailed;
  }
  note_entry(entry, version, active, status);
  if (!checks) failed_names_.note(entry, last_.failed);
  return status;
}

void Repl::note_entry(std::string_view entry, std::size_t version, bool active, Status status) {
  const support::MemoryLimitExempt exempt;
  if (entry.starts_with(":save-repro")) return;
  if (is_entry_of(entry, kChecks)) {
    if (status != Status::Good && last_entry_.expectation.empty()) last_entry_.expectation = std::string(entry);
    const std::vector<std::string> words = split_words(trim(entry));
    if (status == Status::Good && words.size() > 1 && words[1] == "error") last_entry_.failed = false;
    return;
  }
  std::string run = active ? std::move(last_entry_.run) : std::string();
  const Target target = target_of(entry);
  if (target.command && (target.command->flags & kRuns)) run = fmt::format(":run {}", target.rest);
  last_entry_ = {{std::string(entry), author_}, {}, {}, version, std::move(run), last_.failed};
  if (!last_.errors.empty()) last_entry_.error = last_.errors[0].substr(0, last_.errors[0].find('\n'));
}

std::optional<std::string> Repl::with_script_folder(std::string_view entry) const {
  constexpr std::string_view kFolder = "${script}";
  const auto at = entry.find(kFolder);
  if (at == std::string_view::npos || entry.front() != ':' || entry.find('\n') < at) return std::nullopt;
  const std::string& path = script_.depth > 0 ? script_.name : script_path;
  if (path.empty()) return std::nullopt;
  const auto slash = path.rfind('/');
  std::string out(entry);
  return out.replace(at, kFolder.size(), slash == std::string::npos ? "." : path.substr(0, slash));
}

std::string Repl::carried(std::string_view entry) const {
  const Target target = target_of(entry);
  // A script sets options; it does not change the saved settings of its user.
  if (target.command && target.command->name == "set" && target.rest.starts_with(kSaveFlag))
    return fmt::format(":set {}", trim(target.rest.substr(kSaveFlag.size())));
  const bool loads = target.command && target.command->name == "load";
  const bool loads_again = target.command && target.command->name == "reload";
  if ((!loads && !loads_again) || target.rest.find("<<") != std::string_view::npos) return std::string(entry);
  const std::string path = loads ? std::string(target.rest) : session_->program_path();
  auto text = support::read_file(path, source::kMaxBytes);
  if (!text.ok() || bytecode::is_executable_file(*text) || onnx::is_model(path, *text)) return std::string(entry);
  return with_document(loads ? fmt::format(":load {} ", path) : ":reload ", *text);
}

// Later the file may have another text.
KeptEntry Repl::with_text(debug::StoredEntry entry) const {
  std::string in_script = carried(entry.text);
  if (in_script == entry.text) in_script.clear();
  return {std::move(entry), std::move(in_script)};
}

std::string with_author(const std::string& text, const debug::Author& author) {
  return author.is_user() ? text : with_document(fmt::format(":source {} ", support::one_line(author.script)), text);
}

std::string Repl::carried(const debug::StoredEntry& entry) const {
  return with_author(carried(entry.text), entry.author);
}

// A comment in place of an entry that ^C ended: when it would end by itself is not known, so that a script cannot
// repeat it.
static KeptEntry interrupted_entry(const debug::StoredEntry& entry) {
  const std::string text = fmt::format("# interrupted here: {}", support::one_line(entry.text));
  return {{text, entry.author}, {}};
}

// Kept for repetition by a script: entries that succeeded, and those that failed as an `:expect error` specifies, or
// failed but still changed something (a run that stopped at a fault): a script would end there, but for an expectation.
void Repl::keep_entry(debug::StoredEntry entry, Status result, bool changed) noexcept {
  constexpr const char *kFails = ":expect error", *kEndsRun = ":kill";
  const support::MemoryLimitExempt exempt;
  const bool expectation = is_entry_of(entry.text, kChecks);
  const bool fails = result == Status::Failed;
  if (std::exchange(left_out_, false)) {
    failed_entry_ = {};
  } else if (fails && changed && support::cancel_cause() == support::CancelCause::Interrupt) {
    entered_.push_back(interrupted_entry(entry));
    failed_entry_ = {};
  } else if (result == Status::Good || result == Status::Quit || (fails && changed && !expectation)) {
    if (expectation && !failed_entry_.text.empty()) entered_.push_back(with_text(std::move(failed_entry_)));
    // The user's own says more.
    if (entry.text.starts_with(kFails) && !entered_.empty() && entered_.back().entry.text == kFails)
      entered_.pop_back();
    const debug::Author author = entry.author;
    // A script cannot be asked.
    if (run_given_up_) entered_.push_back({{kEndsRun, author}, {}});
    entered_.push_back(with_text(std::move(entry)));
    if (fails) entered_.push_back({{kFails, author}, {}});
    failed_entry_ = {};
  } else if (!expectation) {
    failed_entry_ = std::move(entry);
  }
  run_given_up_ = false;
}

// One after the other, not nested: `continue` among them may stop at a breakpoint with commands again.
Status Repl::carry_out() {
  doing_ = true;
  Status status = Status::Good;
  for (std::size_t i = 0; i < to_do_.size() && status == Status::Good; ++i) {
    const std::string command = to_do_[i].text;
    const WrittenBy by(*this, to_do_[i].author);
    if (repeating && replay_of(command) == Replay::Outside) continue;
    const std::size_t before = to_do_.size();
    const std::uint64_t time = debugger_->last_stop().time;
    const auto work = [&] { return dispatch(command); };
    status = guard(command, std::ref(work));
    if (support::cancel_cause() == support::CancelCause::Interrupt) break;
    // After a command that resumed the run, the rest of this list is dropped; a stop may have appended new commands.
    const bool resumed = !debugger_->active() || debugger_->last_stop().time != time || to_do_.size() != before;
    if (resumed) {
      to_do_.erase(to_do_.begin(), to_do_.begin() + std::ptrdiff_t(before));
      i = std::size_t(-1);
    }
  }
  to_do_.clear();
  doing_ = false;
  return status;
}

// It discards what was changed later: that was another future.
void Repl::note_change(RunChange change) {
  std::erase_if(run_changes, [&](const RunChange& c) { return c.time > change.time; });
  run_changes.push_back(std::move(change));
}

bool Repl::may_end_run(std::string_view what) {
  if (!debugger_->active() || forced_ || repeating) return true;
  const std::string where = describe_position(*this, debugger_->last_stop().where);
  if (ask) {
    run_given_up_ = ask(fmt::format("{} ends the run that is stopped at {}\ncontinue? (y/n) ", what, where));
    return run_given_up_;
  }
  fail(source::message(diag::RunInTheWay, where, what));
  return false;
}

bool Repl::may_give_run_up(std::string_view what) { return !ask || !author_.is_user() || may_end_run(what); }

struct Repl::Before {
  session::Session::Snapshot session;
  std::shared_ptr<debug::Debugger::Snapshot> debugger;
  int frame;
  std::uint64_t completed;
};

Repl::Before Repl::before() const { return {session_->snapshot(), debugger_->snapshot(), frame_, completed_}; }

void Repl::go_back(Before& before) {
  // A script whose entries have been carried out is not undone as a whole.
  if (completed_ != before.completed) return;
  session_->restore(std::move(before.session));
  debugger_->restore(*before.debugger);
  frame_ = before.frame;
}

Status Repl::guard(std::string_view entry, const std::function<Status()>& work) {
  Status status = Status::Failed;
  std::optional<Before> start;
  const auto all = [&] {
    start.emplace(before());
    status = work();
  };
  const auto abandoned = run_guarded(std::ref(all), timeout);
  // A run stopped by its time limit returned normally.
  if (!abandoned) {
    ++completed_;
    if (status != Status::Good && support::cancel_cause() == support::CancelCause::Timeout) {
      fail(source::message(diag::TimedOut, timeout));
      last_.exit_code = kTimeout;
    }
    return status;
  }
  const support::MemoryLimitExempt exempt;  // going back and reporting must not fail for the same reason
  if (start) go_back(*start);
  repeatable_.clear();
  text_asked_ = false;
  fail(abandoned->message);
  if (abandoned->internal) {
    const std::string path =
        write_internal_error(*session_, abandoned->message.text, with_author(std::string(entry), author_));
    if (!path.empty()) console_->error("wrote " + path + "\n");
  }
  last_.exit_code = abandoned->exit_code;
  return Status::Failed;
}

Status Repl::repeat_last() {
  if (repeatable_.empty()) return Status::Good;
  return execute(std::string(repeatable_));
}

// The mark that ends the lines of an entry and is not among them: the script ended first, and what was meant to come
// after the entry is in it.
static std::string_view missing_mark(std::string_view entry) {
  const auto first_end = entry.find('\n');
  if (first_end == std::string_view::npos) return {};
  const std::string_view mark = here_document_mark(entry.substr(0, first_end));
  while (!entry.empty() && trim(entry.substr(entry.rfind('\n') + 1)).empty())
    entry = entry.substr(0, std::min(entry.rfind('\n'), entry.size()));
  return trim(entry.substr(entry.rfind('\n') + 1)) == mark ? std::string_view() : mark;
}

// With `--format=json` every entry replies in JSON; commands do so themselves.
Status Repl::dispatch(std::string_view entry) {
  if (const std::string_view mark = missing_mark(entry); script_.depth > 0 && !mark.empty()) {
    return fail(source::message(diag::ArgumentMissing, fmt::format("the line `{}` that ends `{}`", mark,
                                                                   trim(entry.substr(0, entry.find('\n'))))));
  }
  if (const auto pipe = piped(entry)) return run_piped(*pipe);
  const Target target = target_of(entry);
  const bool replies = target.kind == Target::Kind::Command || target.kind == Target::Kind::Defined;
  if (line_.format == Format::Text || replies) return run_target(target);
  return in_json(nullptr, [&] { return run_target(target); });
}

Status Repl::run_target(const Target& target) {
  switch (target.kind) {
    case Target::Kind::Shell:
      return run_shell(target.rest);
    case Target::Kind::Script:
      return run_entry(target.rest);
    case Target::Kind::Command:
      forced_ = target.forced;
      if (target.clashes && !json_)
        print("note: `{0}` is the command `{1}` here: the variable `{0}` is not computed yet\n", target.word,
              target.command->name);
      return run_command(*target.command, target.rest);
    case Target::Kind::Defined:
      return run_defined(target.word, target.rest);
    case Target::Kind::Misspelt:
      return fail(
          source::message(diag::UnknownVerb, target.word).with_hint(fmt::format("did you mean `{}`?", target.rest)));
    case Target::Kind::Unbound:
      return fail(source::message(diag::NameNotBound, target.word, target.rest)
                      .with_hint(fmt::format("`:{}` is the command `{}`", target.word, target.command->name)));
    case Target::Kind::Unknown:
      break;
  }
  const Lookup found = find_command(target.word);
  if (found.candidates.size() > 1 && !target.word.empty())
    return fail(
        source::message(diag::AmbiguousCommand, target.word, fmt::format("{}", fmt::join(found.candidates, ", "))));
  source::Message m = source::message(diag::UnknownCommand, target.word);
  if (!found.candidates.empty() && !target.word.empty())
    m.hint = fmt::format("did you mean `:{}`?", found.candidates[0]);
  else if (is_info_topic(target.word))
    m.hint = fmt::format("did you mean `:info {}`?", target.word);
  return fail(std::move(m));
}

Replay Repl::replay_of(std::string_view entry) const {
  entry = behind_comments(entry);
  if (entry.empty()) return Replay::No;
  const Target target = target_of(entry);
  switch (target.kind) {
    case Target::Kind::Shell:
      return Replay::Outside;
    case Target::Kind::Script:
    case Target::Kind::Defined:
      return Replay::Yes;
    case Target::Kind::Command:
      return target.command->flags & kReplay    ? Replay::Yes
             : target.command->flags & kOutside ? Replay::Outside
                                                : Replay::No;
    case Target::Kind::Misspelt:
    case Target::Kind::Unbound:
    case Target::Kind::Unknown:
      return Replay::No;
  }
  return Replay::No;
}

std::size_t Repl::version_now() const { return session_->program() ? session_->program()->position() : 0; }

Repl::Moment Repl::moment() const {
  const debug::StopReport& stop = debugger_->last_stop();
  return {debugger_->active(), stop.kind, stop.time, version_now(), session_->values().size()};
}

Status Repl::record(std::string_view entry, const std::function<Status()>& work) {
  if (!journal_ || replay_of(entry) == Replay::No) return work();
  const Moment before = moment();
  {
    const support::MemoryLimitExempt exempt;
    journal_->begin({std::string(entry), author_});
  }
  const Status status = work();
  const support::MemoryLimitExempt exempt;
  journal_->finish(status == Status::Good  ? EntryOutcome::Good
                   : !(moment() == before) ? EntryOutcome::Changed
                                           : EntryOutcome::Failed);
  if (const std::string why = journal_->take_problem(); !why.empty()) {
    source::Diagnostics d;
    d.add({}, source::message(diag::JournalNotKept, journal_->path(), why));
    console_->diagnose(d, session_->sources());
  }
  return status;
}

void Repl::mute(bool on) { tee_->muted = on; }

// As a shell has it: `~` at the beginning of a word is the home folder, and a name may be in quotes.
static std::string with_home(std::string_view rest) {
  const bool quoted =
      rest.size() > 2 && (rest[0] == '"' || rest[0] == '\'') && rest.find(rest[0], 1) == rest.size() - 1;
  if (quoted) rest = rest.substr(1, rest.size() - 2);
  const std::string home = support::home_folder();
  std::string out;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const bool begins = i == 0 || (!quoted && rest[i - 1] == ' ');
    const bool ends = i + 1 == rest.size() || rest[i + 1] == '/' || rest[i + 1] == ' ';
    if (rest[i] == '~' && begins && ends && !home.empty())
      out += home;
    else
      out += rest[i];
  }
  return out;
}

Status Repl::run_handler(const Command& command, std::string_view rest) {
  if (command.needs != 0)
    if (auto refusal = session::missing_ability(fmt::format("`:{}`", command.name), command.needs, *session_))
      return fail(std::move(*refusal));
  // (A text that is given with the command has lines.)
  if (command.completion == Completion::File && rest.find('\n') == std::string_view::npos)
    return command.run(*this, with_home(rest));
  return command.run(*this, rest);
}

Status Repl::run_command(const Command& command, std::string_view rest) {
  bool json = false;
  if (!choose_format(command, rest, json)) return Status::Failed;
  if (json) return run_for_json(command, rest);
  const Status status = run_handler(command, rest);
  if (status == Status::Usage) {
    source::Message m = source::message(diag::CommandUsage, usage_of(command));
    last_.errors.push_back(m.text);
    source::Diagnostics d;
    d.add({}, std::move(m));
    console_->diagnose(d, session_->sources());
  }
  if (command.flags & kRepeat)
    repeatable_ = ":" + std::string(command.name) + (rest.empty() ? "" : " " + std::string(rest));
  else
    repeatable_.clear();
  return status;
}

bool Repl::may(std::string_view what, std::string_view entry) {
  if (author_.is_user() || line_.trust_scripts) return true;
  if (ask) {
    // As a string with escapes: terminal control sequences must not hide the script's text.
    const std::string shown = runtime::describe(runtime::Value::of_string(std::string(entry)));
    return ask(fmt::format("{}, line {}, wants to {}: {}\nrun it? (y/n) ", support::one_line(author_.script),
                           author_.line, what, shown));
  }
  fail(source::message(diag::ScriptMayNot, author_.script, author_.line, what));
  return false;
}

bool Repl::may_write(std::string_view path, std::string_view entry) {
  return path == "-" || may("write a file", entry);
}

Status Repl::run_shell(std::string_view command) {
  if (!may("run a shell", command)) return Status::Failed;
  if (json_) return run_shell_for_json(command);
  console_->write("");
  console_->pause();
  const int status = support::run_shell(std::string(command));
  console_->resume();
  support::poll();
  return status == 0 ? Status::Good : Status::Failed;
}

// Its output is part of the reply.
Status Repl::run_shell_for_json(std::string_view command) {
  const support::TemporaryFolder folder("shell");
  const std::string file = folder.path() + "/output";
  const int status = support::run_shell(fmt::format("{{ {}\n}} > '{}' 2>&1", command, file));
  support::poll();
  if (const auto text = support::read_file(file); text.ok()) print("{}", *text);
  if (status == 0) return Status::Good;
  return fail(source::message(diag::ShellFailed, status > 0 && WIFEXITED(status)
                                                     ? fmt::format("exit code {}", WEXITSTATUS(status))
                                                 : status > 0 ? fmt::format("signal {}", WTERMSIG(status))
                                                              : std::string("it could not be started")));
}

Status Repl::report(const source::Diagnostics& diagnostics) {
  if (diagnostics.all().empty()) return Status::Good;
  tell(diagnostics);
  for (const source::Diagnostic& d : diagnostics.all()) {
    if (d.severity != source::Severity::Error) continue;
    std::string text = d.message;
    for (const source::Note& note : d.notes) text += "\n" + note.text;
    last_.errors.push_back(std::move(text));
  }
  return diagnostics.has_errors() ? Status::Failed : Status::Good;
}

void Repl::tell(const source::Diagnostics& diagnostics) {
  if (json_) return keep_for_json(diagnostics);
  constexpr std::size_t kMost = 20;  // more of them would push the first, which often causes the others, off the screen
  if (diagnostics.error_count() <= kMost) return console_->diagnose(diagnostics, session_->sources());
  source::Diagnostics first;
  for (const source::Diagnostic& d : diagnostics.all()) {
    first.add(d);
    if (first.error_count() == kMost) break;
  }
  console_->diagnose(first, session_->sources());
  print("{}; `rldb check FILE` shows all errors of a file\n",
        support::counted(diagnostics.error_count() - kMost, "more error"));
}

Status Repl::fail(source::Message message) {
  if (line_.format == Format::Json && !json_ && !text_asked_)
    return in_json(nullptr, [&] { return fail(std::move(message)); });
  source::Diagnostics d;
  d.add({}, std::move(message));
  return report(d);
}

void Repl::show_value(const runtime::Value& value, std::string_view name) {
  if (show_by_printer(value, name)) return;
  const std::string text = runtime::format_value(value, print_format);
  const std::string named = name.empty()                           ? text + "\n"
                            : text.find('\n') == std::string::npos ? fmt::format("{} = {}\n", name, text)
                                                                   : fmt::format("{} =\n{}\n", name, text);
  show(source::visible(named, {.colours = console_->color()}),
       {OutputKind::Value, value_html(value, name), {}, {}, {}});
}

void Repl::forgive() { last_.failed = false; }

Status Repl::run_script(std::string_view text, const std::string& name, bool named) {
  // A script that sources itself must end.
  if (script_.depth >= 16) return fail(source::message(diag::ScriptsNested, name));
  struct Restore {
    explicit Restore(Script& script) : script(script), outer(script) {}
    ~Restore() { script = std::move(outer); }
    Script& script;
    Script outer;
  } restore(script_);
  script_ = {script_.depth + 1, name};
  const bool foreign = !named || !author_.is_user();
  const WrittenBy by(*this, author_);
  ScriptReader reader(text);
  Status status = Status::Good;
  bool pending = false;  // the previous entry failed; an `:expect error` may follow
  std::uint32_t pending_line = 0;
  std::size_t unread = 0;  // entries parsed but not executed
  while (auto entry = reader.next()) {
    if (pending && !is_entry_of(entry->text, kChecks)) {
      unread = 1;
      break;
    }
    if (foreign) author_ = {name, entry->line};
    status = execute(entry->text);
    if (status == Status::Quit) break;
    if (support::cancel_cause() == support::CancelCause::Interrupt) {  // ^C ends the script, not just one entry
      pending = true, pending_line = entry->line;
      break;
    }
    const bool expectation = is_entry_of(entry->text, kChecks);
    if (expectation && status == Status::Failed) {
      pending = true, pending_line = entry->line;
      break;
    }
    pending = last_.failed;
    pending_line = entry->line;
  }
  if (!pending) return status == Status::Quit ? Status::Quit : Status::Good;
  std::size_t left = unread;
  while (reader.next()) ++left;
  console_->print_error("{}:{}: {}\n", name, pending_line, stopped_here(left));
  return Status::Failed;
}

}  // namespace rldb::ui
