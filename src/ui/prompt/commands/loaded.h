// The report of a program that has been read, for the commands that read one.
#pragma once

#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

// Resolves the breakpoints, and shows the program's functions.
Status tell_loaded(Repl& repl);

}  // namespace rldb::ui
