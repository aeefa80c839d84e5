// `COMMAND ... | SHELL`: the output of a command goes through a shell command, as in gdb's `pipe`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/page.h"
#include "ui/prompt/entry/frame_scope.h"

namespace rldb::ui {

namespace {

// The arguments of these are expressions, in which `|` is an operator. Others say so in their row (kHasBars).
bool takes_expressions(const Command& command) { return command.completion == Completion::Name; }

// The conditions of these are about frames that are still to come: nobody knows which names have values there.
bool takes_conditions(const Command& command) {
  return command.completion == Completion::Place || command.completion == Completion::Event;
}

// The first `|` that stands by itself, outside of quotes.
std::size_t find_bar(std::string_view text) {
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '|' && (i == 0 || text[i - 1] == ' ')) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string_view first_word_of(std::string_view text) { return text.substr(0, text.find_first_of(" \t")); }

bool is_installed_program(std::string_view word) {
  if (word.find('/') != std::string_view::npos) return ::access(std::string(word).c_str(), X_OK) == 0;
  const char* variable = std::getenv("PATH");
  for (std::string_view rest = variable ? variable : ""; !rest.empty() && !word.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (::access(fmt::format("{}/{}", rest.substr(0, end), word).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace

std::optional<Repl::Piped> Repl::piped(std::string_view entry) const {
  if (entry.find('|') == std::string_view::npos || entry.find('\n') != std::string_view::npos) return std::nullopt;
  const std::size_t bar = find_bar(entry);
  if (bar == std::string_view::npos || bar == 0) return std::nullopt;
  const std::string_view left = trim(entry.substr(0, bar)), shell = trim(entry.substr(bar + 1));
  if (left.empty() || shell.empty()) return std::nullopt;
  const Target target = target_of(left);
  if (target.kind != Target::Kind::Command || (target.command->flags & (kBlock | kEntries | kOutside | kHasBars)))
    return std::nullopt;
  // Behind an expression (`:print x | head -3`): an operand if it is a value, or a name of the program, else a program.
  const std::string_view program = first_word_of(shell);
  const bool is_operand = is_value_name(program) || !functions_that_bind(session_->module(), program).empty() ||
                          !is_installed_program(program);
  const bool is_operator =
      !target.rest.empty() && (takes_conditions(*target.command) || (takes_expressions(*target.command) && is_operand));
  return is_operator ? std::nullopt : std::optional(Piped{left, shell});
}

Status Repl::run_piped(const Piped& piped) {
  if (!may("run a shell", piped.shell)) return Status::Failed;
  std::string text;
  Status status = Status::Failed;
  {
    struct Diverted {
      Diverted(Repl& repl, std::string* to) : repl(repl) { repl.divert(to); }
      ~Diverted() { repl.divert(nullptr); }
      Repl& repl;
    } scope(*this, &text);
    status = run_target(target_of(piped.command));
  }
  if (status == Status::Quit) return status;
  const support::TemporaryFolder folder("pipe");
  const std::string file = folder.path() + "/output";
  if (const auto written = support::write_file(file, without_colors(text)); !written.ok())
    return fail(source::message(diag::FileNotWritten, file, written.error().reason));
  const Status filtered = run_shell(fmt::format("{{ {}\n}} < '{}'", piped.shell, file));
  return status == Status::Good ? filtered : status;
}

}  // namespace rldb::ui
