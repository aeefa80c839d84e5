// `rldb test --git-bisect --test=COMMAND`: does another program show the fault of a file's module?
#pragma once

#include "ui/cli.h"
#include "ui/console.h"

namespace rldb::ui {

// The exit code for `git bisect run`: 1 the command shows it on one of the files, 0 on none, 125 cannot tell.
int git_bisect(const CommandLine& line, Console& console);

}  // namespace rldb::ui
