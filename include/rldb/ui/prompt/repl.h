// The prompt: reads entries and commands, from a terminal, a pipe, files (-x) or the command line (-ex).
#pragma once

#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

// Returns the exit code of the program.
int run_repl(const CommandLine& line, Console& console);

}  // namespace rldb::ui
