// Candidates for a place in an entry: names, places for breakpoints, versions, passes and their options, operators and
// their attributes, attributes of values, files. Users: completion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/prompt/command.h"
#include "rldb/ui/terminal/line_editor.h"

namespace rldb::ui {

// For the word `prefix` of the arguments `before` of a command.
void add_arguments(Repl& repl, const Command& command, std::string_view before, std::string_view prefix,
                   Candidates& out);
// For the word `prefix` of an expression; `before` is what comes before it.
void add_expression(Repl& repl, std::string_view before, std::string_view prefix, Candidates& out);

}  // namespace rldb::ui
