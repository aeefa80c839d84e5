// Functions named by the rows of command.def. Commands that run another command include this; the others need not, so
// that a new row causes few files to be rebuilt.
#pragma once

#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

#define RLDB_COMMAND(id, name, aliases, arguments, group, complete, flags, needs, doc, more) \
  Status command_##id(Repl& repl, std::string_view rest);
#include "rldb/ui/prompt/command.def"

}  // namespace rldb::ui
