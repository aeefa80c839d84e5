// `rldb test --git-bisect --test=COMMAND`: does another program show the fault in a file's module?
#pragma once

#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

// The exit code for `git bisect run`: 1 the command shows the fault on a file, 0 on none, 125 cannot tell.
int git_bisect(const CommandLine& line, Console& console);

}  // namespace rldb::ui
