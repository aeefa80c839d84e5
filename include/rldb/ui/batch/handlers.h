// Functions named by the rows of subcommand.def; they return the exit code.
#pragma once

#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

#define RLDB_SUBCOMMAND(id, name, handler, usage, needs, doc) int handler(const CommandLine& line, Console& console);
#include "rldb/ui/command_line/subcommand.def"

}  // namespace rldb::ui
