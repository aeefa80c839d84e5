// The versions of the program, as named in commands. Users: the commands about passes and about faults.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

// A number or a bookmark. None: diagnosed.
std::optional<std::size_t> version_of(Repl& repl, const std::string& text);
// The one before the current one. None: diagnosed, as there is none.
std::optional<std::size_t> previous_version(Repl& repl);
// `[VERSION [VERSION]]`: by default the previous one against the current one. None: diagnosed, or too many words.
std::optional<std::pair<std::size_t, std::size_t>> two_versions(Repl& repl, std::string_view rest);
// A stopped run ends. Good unless a version has no place for it: then the user kept the run.
Status go_to_version(Repl& repl, std::size_t version);

}  // namespace rldb::ui
