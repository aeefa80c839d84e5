// The functions that the rows of command.def name. A command that runs another one includes this; the others need not,
// so that a new row builds few files again.
#pragma once

#include "ui/repl/commands/command.h"

namespace rldb::ui {

#define RLDB_COMMAND(id, name, aliases, arguments, group, complete, flags, doc, more) \
  Status command_##id(Repl& repl, std::string_view rest);
#include "rldb/ui/command.def"

}  // namespace rldb::ui
