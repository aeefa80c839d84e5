// The program: parse the command line, dispatch, and turn an internal fault into a report and exit code 4.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "rldb/support/check.h"
#include "ui/batch/batch.h"
#include "ui/repl/repl.h"

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
    case Subcommand::Repl:
      return run_repl(line, console);
#define RLDB_SUBCOMMAND(id, name, handler, usage, doc) \
  case Subcommand::id:                                 \
    return handler(line, console);
#include "rldb/ui/subcommand.def"
  }
  return kUsage;
}

// What was asked for and what went wrong, in one file that can be sent with a report.
void write_reproducer(int argc, char** argv, const char* what) {
  char path[] = "rldb-internal-error-XXXXXX";
  const int fd = ::mkstemp(path);
  if (fd < 0) return;
  std::string text = "# rldb met a bug of its own\n# " + std::string(what) + "\nrldb";
  for (int i = 1; i < argc; ++i) {
    text += " '";
    for (const char* c = argv[i]; *c; ++c) text += *c == '\'' ? std::string("'\\''") : std::string(1, *c);
    text += "'";
  }
  text += "\n";
  if (::write(fd, text.data(), text.size()) == ssize_t(text.size())) std::fprintf(stderr, "written: %s\n", path);
  ::close(fd);
}

}  // namespace

int run_program(int argc, char** argv) {
  int exit_code = kGood;
  const auto line = parse_command_line(argc, argv, exit_code);
  if (!line) return exit_code;
  TerminalConsole console;
  console.set_color(wants_color(line->color));
  try {
    return dispatch(*line, console);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: out of memory\n");
    return kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rldb: internal error: %s\n", error.what());
    write_reproducer(argc, argv, error.what());
    return kInternal;
  }
}

}  // namespace rldb::ui

int main(int argc, char** argv) {
  rldb::ui::open_standard_streams();
  return rldb::ui::finish_output(rldb::ui::run_program(argc, argv));
}
