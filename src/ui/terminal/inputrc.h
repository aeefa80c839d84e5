// The user's inputrc, as far as it concerns us: keys bound to functions of key_function.def or to macros, editing-mode,
// bell-style, keymap, enable-bracketed-paste, keyseq-timeout, show-all-if-ambiguous; $if by mode, term and application;
// $include. The file is shared with other programs, so unknown settings are skipped silently.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rldb/ui/terminal/key_bindings.h"

namespace rldb::ui {

// Returns the text of a file, or nullopt.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

void read_inputrc(std::string_view text, std::string_view term, const ReadFile& read, KeyBindings& keys);
// The defaults and the user's file: $INPUTRC, else ~/.inputrc, else /etc/inputrc.
KeyBindings user_key_bindings();

}  // namespace rldb::ui
