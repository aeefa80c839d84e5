// The prompt: reads entries and commands, from a terminal, a pipe, files (-x) or the command line (-ex).
#pragma once

#include "ui/cli.h"
#include "ui/console.h"

namespace rldb::ui {

// Returns the exit code of the program.
int run_repl(const CommandLine& line, Console& console);

}  // namespace rldb::ui
