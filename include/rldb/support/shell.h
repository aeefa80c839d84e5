// A shell command, run as by `system`, except that a cancellation ends it. Users: the prompt (`!command`, `:edit`), the
// oracle that queries a program, aot (the linker); `keep_commands_in_group`: processes of candidates.
#pragma once

#include <string>
#include <string_view>

namespace rldb::support {

// Its wait status, -1 when it could not be started. When the work is cancelled meanwhile, the command is killed, and so
// are its children unless it has the terminal; polling is left to the caller.
//
// With a terminal as standard input the command has it, and its ^C; otherwise a ^C cancels the work.
int run_shell(const std::string& command);

// For a process that is ended from outside, with its group: its commands stay in that group, so that they end with it.
void keep_commands_in_group();

// The text as one word of a command, in single quotes.
std::string shell_word(std::string_view text);

}  // namespace rldb::support
