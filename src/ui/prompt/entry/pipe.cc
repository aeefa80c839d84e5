// `COMMAND ... | SHELL`: the output of a command goes through a shell command, as in gdb's `pipe`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "rldb/frontend/parse.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/page.h"
#include "ui/prompt/entry/frame_scope.h"

namespace rldb::ui {

namespace {

std::string_view first_word_of(std::string_view text) { return text.substr(0, text.find_first_of(" \t")); }

// The arguments of these are expressions, in which `|` is an operator.
bool takes_expressions(const Command& command) { return command.completion == Completion::Name; }

// The names in the arguments of these get their values later: nobody knows now which there will be.
bool is_about_later(const Command& command) {
  return command.completion == Completion::Place || command.completion == Completion::Event ||
         (command.flags & kHasBars && takes_expressions(command));
}

// Those of `:define` may hand theirs to any of them.
bool may_have_operators(const Command* command) {
  return !command || takes_expressions(*command) || is_about_later(*command) || (command->flags & kHasBars);
}

// `head -3`, `grep lv`, which are not the second operand of a condition, as `test` and `test - 3` may be.
bool has_arguments_of_shell(std::string_view shell) {
  const std::string_view behind = shell.substr(first_word_of(shell).size());
  const std::size_t dash = behind.find_first_not_of(" \t");
  if (dash == std::string_view::npos) return false;
  const bool is_option = behind[dash] == '-' && dash + 1 < behind.size() && behind[dash + 1] != ' ';
  return is_option || !frontend::is_syntax(shell);
}

// Each `|` that stands by itself or behind a lone word (`bt|head`), outside of quotes; not `||`.
std::vector<std::size_t> find_bars(std::string_view text) {
  const std::size_t word = text.find_first_of(" \t\"'|");
  std::vector<std::size_t> bars;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '|') {
      const std::size_t end = std::min(text.find_first_not_of('|', i), text.size());
      if (end == i + 1 && (i == word || i == 0 || text[i - 1] == ' ')) bars.push_back(i);
      i = end - 1;
    }
  }
  return bars;
}

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

constexpr std::string_view kNoProgramBehind = "no program follows the `|`";
constexpr std::string_view kLinesFollow = "lines of its own follow it";
constexpr std::string_view kKeptForLater = "`|` is an operator in its arguments";
constexpr std::string_view kIsData = "with `--format=json` it is data";

}  // namespace

std::optional<Repl::Piped> Repl::piped(std::string_view entry) const {
  const std::string_view line = entry.substr(0, entry.find('\n'));
  const auto piped_at = [&](std::size_t bar) -> std::optional<Piped> {
    const std::string_view left = trim(line.substr(0, bar)), shell = trim(line.substr(bar + 1));
    if (left.empty()) return std::nullopt;
    const Target target = target_of(left);
    const Command* const command = target.command;  // null: one of `:define`, or a value
    const std::string_view program = first_word_of(shell);
    const auto is_program = [&] {
      // `:print x | head -3`: an operand if it is a value, or a name of the program, else a program. (Alternatives of a
      // pattern are calls.)
      const bool is_operand = is_value_name(program) || !functions_that_bind(session_->module(), program).empty();
      return !is_operand && is_installed_program(program);
    };
    if (target.kind == Target::Kind::Script && is_one_name(left) && line.size() == entry.size() && is_program())
      return Piped{left, shell, left, line_.format == Format::Text ? std::string_view() : kIsData};
    if (!command && target.kind != Target::Kind::Defined) return std::nullopt;

    Piped found{left, shell, command ? command->name : target.word, {}};
    if (line.size() < entry.size()) {
      if (!command || !(command->flags & kBlock) || !is_installed_program(program)) return std::nullopt;
      found.refusal = kLinesFollow;
    } else if (!target.rest.empty() && may_have_operators(command)) {
      if (!is_program()) return std::nullopt;
      if (command && is_about_later(*command)) {
        if (!has_arguments_of_shell(shell)) return std::nullopt;
        found.refusal = kKeptForLater;
      }
    } else if (shell.empty()) {
      found.refusal = kNoProgramBehind;
    }
    if (found.refusal.empty() && line_.format != Format::Text) found.refusal = kIsData;
    return found;
  };
  // Behind an expression, the first that a program follows.
  for (const std::size_t bar : find_bars(line))
    if (auto found = piped_at(bar)) return found;
  return std::nullopt;
}

Status Repl::run_piped(const Piped& piped) {
  if (!piped.refusal.empty()) {
    const auto refuse = [&] { return fail(source::message(diag::NotPiped, piped.name, piped.refusal)); };
    return line_.format == Format::Text ? refuse() : in_json(target_of(piped.command).command, refuse);
  }
  if (!may("run a shell", piped.shell)) return Status::Failed;
  std::string text;
  Status status = Status::Failed;
  {
    struct Diverted {
      Diverted(Repl& repl, std::string* to) : repl(repl), before(repl.divert(to)) {}
      ~Diverted() { repl.divert(before); }
      Repl& repl;
      std::string* const before;  // of the script that the entry is in
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
