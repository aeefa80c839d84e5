// docs/commands.md, generated from the tables of commands, subcommands and options.
#pragma once

#include <string>

namespace rldb::ui {

std::string commands_markdown();
// The tables of docs/expressions.md: everything from their heading on.
std::string expressions_markdown();
// The tables at the end of docs/json.md.
std::string replies_markdown();

}  // namespace rldb::ui
