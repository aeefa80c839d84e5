// Completion of an entry of the prompt. Users: the line editor, the debug adapter's console.
#pragma once

#include <cstddef>
#include <string_view>

#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/line_editor.h"

namespace rldb::ui {

// Candidates for the word before `cursor`, sorted, unique; `start` is where that word begins. Commands after a colon
// (and bare verbs while stopped), their arguments by the command's row, operators after `R.`, names in scope.
Candidates complete_entry(Repl& repl, std::string_view text, std::size_t cursor, std::size_t& start);

}  // namespace rldb::ui
