// Entries of Relay text: a module is loaded; without a version line its definitions are added to the Relay program.
// Room-private.
#pragma once

#include <string_view>

#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

Status run_relay_entry(Repl& repl, std::string_view text);

// Whether it was an entry of definitions that led to a version, the last step that is not undone: `:undo` takes them
// back.
bool can_take_back_definitions(Repl& repl, std::size_t version);
Status take_back_definitions(Repl& repl);

}  // namespace rldb::ui
