// docs/commands.md, made from the tables of commands, subcommands and options.
#pragma once

#include <string>

namespace rldb::ui {

std::string commands_markdown();

}  // namespace rldb::ui
