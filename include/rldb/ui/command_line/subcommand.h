// The batch commands as ids: the rows of subcommand.def.
#pragma once

#include "rldb/ui/command_line/cli.h"

namespace rldb::ui {

enum class Subcommand : std::uint8_t {
  Repl,
#define RLDB_SUBCOMMAND(id, name, handler, usage, needs, doc) id,
#include "rldb/ui/command_line/subcommand.def"
};

}  // namespace rldb::ui
