// Reports of a program, for the commands that read or list one.
#pragma once

#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

// Resolves the breakpoints, and shows the program's functions.
Status tell_loaded(Repl& repl);
// The functions of the program, whatever its kind.
Status list_program(Repl& repl);

}  // namespace rldb::ui
