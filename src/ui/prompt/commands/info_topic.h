// `:info`, for other commands.
#pragma once

#include <optional>
#include <string_view>

#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

// Is it the whole name of a topic, as in `:info functions`?
bool is_info_topic(std::string_view word);
// A binding, function or value of the program of this name. Nothing: there is none, nothing was shown.
std::optional<Status> show_named(Repl& repl, std::string_view name);

}  // namespace rldb::ui
