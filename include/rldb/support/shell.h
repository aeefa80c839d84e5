// A command of the shell, as `system` runs it, but a cancellation ends it. Users: the prompt (`!command`), the oracle
// that asks a program.
#pragma once

#include <string>

namespace rldb::support {

// Its wait status, -1 when it could not be started. When the work is cancelled meanwhile, the command is killed, and
// what it started too unless it has the terminal; it is the caller who polls.
//
// With a terminal as standard input the command has it, and its ^C; otherwise a ^C cancels the work.
int run_shell(const std::string& command);

}  // namespace rldb::support
