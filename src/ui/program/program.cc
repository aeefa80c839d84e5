// The program: parse the command line, dispatch, and turn an internal fault into a report and exit code 4.
#include "rldb/ui/program/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rldb/protocol/live_page.h"
#include "rldb/session/session.h"
#include "rldb/source/diagnostic.h"
#include "rldb/support/memory.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/batch/command_report.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/command_line/subcommand.h"
#include "rldb/ui/prompt/page_door.h"
#include "rldb/ui/prompt/repl.h"
#include "rldb/ui/terminal/guarded.h"

namespace rldb::ui {

namespace {

bool wants_color(Color color) {
  if (color != Color::Auto) return color == Color::Always;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = !term || std::string_view(term) == "dumb";
  return ::isatty(STDOUT_FILENO) && ::isatty(STDERR_FILENO) && !dumb && !(no_color && *no_color);
}

int dispatch(const CommandLine& line, Console& console) {
  switch (line.subcommand) {
    case Subcommand::Repl: {
      // Batch sessions do not wait for anybody; replies in JSON answer the program that writes the entries.
      const bool waits = !line.prompt.batch && line.format != Format::Json;
      const auto page = waits ? protocol::make_page_door() : nullptr;
      set_page_door(page.get());
      const int code = run_repl(line, console);
      set_page_door(nullptr);
      return code;
    }
#define RLDB_SUBCOMMAND(id, name, handler, usage, needs, doc) \
  case Subcommand::id:                                        \
    return handler(line, console);
#include "rldb/ui/command_line/subcommand.def"
  }
  return kUsage;
}

// The command as it was typed, for a shell.
std::string command_text(int argc, char** argv) {
  std::string text = "rldb";
  for (int i = 1; i < argc; ++i) {
    text += " '";
    for (const char* c = argv[i]; *c; ++c) text += *c == '\'' ? std::string("'\\''") : std::string(1, *c);
    text += "'";
  }
  return text;
}

// `test`, the servers and the prompt limit each entry, `check` each file.
bool limits_entries(Subcommand subcommand) {
  constexpr Subcommand kServersAndScripts[] = {Subcommand::Repl, Subcommand::Test,    Subcommand::Check,
                                               Subcommand::Mcp,  Subcommand::Jupyter, Subcommand::Lsp,
                                               Subcommand::Dap};
  return std::find(std::begin(kServersAndScripts), std::end(kServersAndScripts), subcommand) !=
         std::end(kServersAndScripts);
}

// The prompt guards each of its entries; the guard here is for the code around them.
int run_command_line(const CommandLine& line, Console& console, const std::string& command) {
  const bool entries = limits_entries(line.subcommand);
  install_interrupt(line.subcommand != Subcommand::Repl);
  int code = kGood;
  const auto abandoned =
      run_guarded([&] { code = dispatch(line, console); }, entries ? 0 : line.timeout, /*exit_when_stuck=*/true);
  if (!abandoned) return code;
  source::Diagnostics diagnostics;
  diagnostics.add({}, abandoned->message);
  console.diagnose(diagnostics, {});
  if (abandoned->internal)
    if (const std::string path = write_internal_error(line, abandoned->message.text, command); !path.empty())
      console.error("wrote " + path + "\n");
  return abandoned->exit_code;
}

int run_arguments(int argc, char** argv) {
  int exit_code = kGood;
  const auto line = parse_command_line(argc, argv, exit_code);
  if (!line) return exit_code;
  if (line->max_memory > 0) support::set_memory_limit(line->max_memory);
  TerminalConsole console;
  console.set_color(wants_color(line->color));
  return run_command_line(*line, console, command_text(argc, argv));
}

}  // namespace

int main_program(int argc, char** argv) {
  open_standard_streams();
  const int code = finish_output(run_arguments(argc, argv));
  if (session::work_left_behind()) {
    std::fflush(nullptr);
    ::_exit(code);
  }
  return code;
}

}  // namespace rldb::ui
