// Edits of the program's text from outside: reload, edit, watch-file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "rldb/frontend/relay.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/support/file.h"
#include "rldb/support/file_system.h"
#include "rldb/support/shell.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/handlers.h"
#include "ui/prompt/commands/loaded.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

// Kernels of the stopped run are replaced in it. Any other function may be the one that it executes.
bool changes_only_kernels(Repl& repl, const session::TextChange& change) {
  if (!change.same_kind) return false;
  const ir::Module* module = repl.session().module();
  return std::all_of(change.changed.begin(), change.changed.end(), [&](const std::string& name) {
    return module && ir::isa<ir::PrimFunc>(module->find(name)) && repl.debugger().kernel_of_run(name);
  });
}

// False: the run stays, and the program with it.
bool may_end_run_for(Repl& repl) {
  if (!repl.file_was_written) return repl.may_end_run("loading the program again");
  repl.written_file_waits = true;
  repl.print("note: `{}` has changed; it is read when the run has ended, or by `:reload`, which ends it\n",
             repl.session().program_path());
  return false;
}

void tell_change(Repl& repl, const session::TextChange& change) {
  if (!change.same_kind) return;
  if (!repl.tells_of_no_change && change.changed.empty() && change.hand_made == 0) return;
  const std::string read =
      change.whole ? std::string()
                   : fmt::format("; {} and {} were read again", support::counted(change.functions, "function"),
                                 support::counted(change.statements, "statement"));
  if (change.changed.empty())
    repl.print("nothing has changed{}\n", change.passes.empty() ? "" : " in this version");
  else
    repl.print("changed: {}{}\n", fmt::join(change.changed, ", "), read);
  if (!change.passes.empty()) repl.print("applied again: {}\n", fmt::join(change.passes, ", "));
  if (change.hand_made > 0)
    repl.print("note: {} made by hand {} lost\n", support::counted(change.hand_made, "version"),
               change.hand_made == 1 ? "is" : "are");
}

void move_breakpoints(Repl& repl, const session::TextChange& change) {
  if (change.shifts.empty()) return;
  repl.debugger().move_line_breakpoints(repl.session().program_path(),
                                        [change](std::uint32_t line) { return change.moved_line(line); });
}

// An edit moves the places in the text, which the code of a stopped run needs as they were: then the new text becomes a
// file of its own.
bool reload(Repl& repl, const std::optional<HereDocument>& text, source::Diagnostics& diagnostics,
            session::TextChange& change) {
  struct Reading {
    explicit Reading(bool& flag, bool in_part) : flag(flag), was(std::exchange(flag, flag && in_part)) {}
    ~Reading() { flag = was; }
    bool& flag;
    bool was;
  } reading(repl.session().options().keep_document, !repl.debugger().active());
  if (text) return repl.session().edit_text(std::string(text->body), diagnostics, &change);
  return repl.session().reload(diagnostics, &change);
}

Status read_file_again(Repl& repl, const std::optional<HereDocument>& text) {
  source::Diagnostics diagnostics;
  session::TextChange change;
  session::Session::Snapshot before = repl.session().snapshot();
  const bool ok = reload(repl, text, diagnostics, change);
  repl.report(diagnostics);
  if (!ok) return Status::Failed;
  const bool stays = repl.debugger().active() && changes_only_kernels(repl, change);
  if (repl.debugger().active() && !stays && !may_end_run_for(repl)) {
    repl.session().restore(std::move(before));
    if (repl.file_was_written) repl.leave_out();
    return repl.file_was_written ? Status::Good : Status::Failed;
  }
  repl.written_file_waits = false;
  move_breakpoints(repl, change);
  if (!stays) repl.debugger().kill();
  const Status status = tell_loaded(repl);
  if (repl.wants_json()) return status;
  tell_change(repl, change);
  if (stays && !change.shifts.empty())
    repl.print("note: until the run ends, lines are those of the text that it began with\n");
  if (stays)
    for (const std::string& name : change.changed) repl.replace_in_run(name);
  return diagnostics.has_errors() ? Status::Failed : Status::Good;  // a pass that failed
}

std::string editor_name() {
  for (const char* variable : {"VISUAL", "EDITOR"})
    if (const char* name = std::getenv(variable); name && *name) return name;
  return "vi";
}

bool run_editor(Repl& repl, const std::string& path) {
  const std::string editor = editor_name();
  if (!repl.may("run an editor", editor)) return false;
  repl.console().write("");
  repl.console().pause();
  const int status = support::run_shell(editor + " " + support::shell_word(path));
  repl.console().resume();
  support::poll();
  if (status == 0) return true;
  repl.fail(source::message(diag::EditorFailed, editor));
  return false;
}

// Enters what the user makes of the file. It stays while its text has an error.
Status enter_edited(Repl& repl, const std::string& path, std::string_view before) {
  const bool edited = run_editor(repl, path);
  const auto changed = support::read_file(path, source::kMaxBytes);
  const bool is_new = changed.ok() && trim(*changed) != trim(before);
  Status status = Status::Failed;
  if (edited && !changed.ok()) repl.fail(source::message(diag::FileNotFound, path, changed.error().reason));
  if (edited && changed.ok()) status = is_new ? repl.execute(*changed) : Status::Good;
  if (edited && changed.ok() && !is_new) repl.print("nothing has changed\n");
  if (is_new && status != Status::Good)
    repl.print("note: the edited text is in `{0}`; `:source {0}` enters it\n", path);
  else
    ::unlink(path.c_str());
  return status;
}

Status edit_function(Repl& repl, const std::string& name) {
  const session::Program* program = repl.session().program();
  if (!needs(repl, "`:edit` of a function", session::kModule)) return Status::Failed;
  const auto text = program->text(program->position(), session::TextFor::Saving, name);
  if (!text) return repl.fail(source::message(diag::NoSuchThing, "function", name));
  char path[] = "/tmp/rldb-edit-XXXXXX.py";
  const int file = ::mkstemps(path, 3);
  const int error = file < 0 ? errno : support::write_all(file, *text);
  if (file >= 0) ::close(file);
  if (error != 0) return repl.fail(source::message(diag::FileNotWritten, path, support::error_text(error)));
  Status status = enter_edited(repl, path, *text);
  while (status == Status::Failed && support::file_exists(path) && repl.ask && repl.ask("edit it again? (y/n) "))
    status = enter_edited(repl, path, *text);
  return status;
}

}  // namespace

Status command_Reload(Repl& repl, std::string_view rest) {
  const auto text = here_document(rest);
  if (!rest.empty() && (!text || !text->first.empty())) return Status::Usage;
  return read_file_again(repl, text);
}

Status command_Edit(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return edit_function(repl, std::string(rest));
  const std::string path = repl.session().program_path();
  if (path.empty()) return repl.fail(source::message(diag::NoFileToEdit, "the program was entered at the prompt"));
  if (!support::file_exists(path))
    return repl.fail(source::message(diag::NoFileToEdit, fmt::format("`{}` does not exist", path)));
  if (!run_editor(repl, path)) return Status::Failed;
  if (repl.file_watch) (void)repl.file_watch->written();
  return repl.execute(":reload");
}

Status command_WatchFile(Repl& repl, std::string_view rest) {
  if (!rest.empty() && rest != "on" && rest != "off") return Status::Usage;
  if (rest == "off") repl.file_watch = nullptr;
  if (rest == "on") {
    const std::string path = repl.session().program_path();
    if (path.empty() || !support::file_exists(path))
      return repl.fail(source::message(diag::NothingToWatch,
                                       path.empty() ? "no file is open" : fmt::format("`{}` does not exist", path)));
    std::string why;
    auto watch = support::FileWatch::start(path, why);
    if (!watch) return repl.fail(source::message(diag::FileNotWatched, path, why));
    repl.file_watch = std::move(watch);
  }
  const std::string path = repl.file_watch ? repl.file_watch->path() : std::string();
  if (repl.wants_json()) return repl.give({{"watch", repl.file_watch != nullptr}, {"file", path}});
  if (repl.file_watch)
    repl.print("`{}` is read again whenever it is written\n", path);
  else
    repl.print("no file is watched\n");
  return Status::Good;
}

void Repl::follow_written_file() {
  if (!file_watch) return;
  const std::string path = session_->program_path();
  if (path != file_watch->path()) {  // another program has been opened
    std::string why;
    auto next = path.empty() ? nullptr : support::FileWatch::start(path, why);
    if (next) file_watch = std::move(next);
    written_file_waits = false;
    return;
  }
  const bool waited = written_file_waits && !debugger_->active();
  if ((!file_watch->written() && !waited) || !support::file_exists(path)) return;
  written_file_waits = false;
  struct Written {
    explicit Written(bool& flag) : flag(flag) { flag = true; }
    ~Written() { flag = false; }
    bool& flag;
  } written(file_was_written);
  (void)execute(":reload");
}

}  // namespace rldb::ui
