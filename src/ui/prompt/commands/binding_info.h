// `:info NAME` and `:type NAME` for a binding or parameter of a Relax function.
#pragma once

#include <string>
#include <string_view>

#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

// The function of the selected frame, under its original name; without a run, main.
std::string function_at_hand(Repl& repl);
// `lv1` (of the frame's function, else main), `main:lv1`. False: there is none, nothing was shown.
bool show_binding(Repl& repl, std::string_view what);
// A symbolic variable of the selected frame, or a local that is not a binding of the text. False: there is none.
bool show_frame_name(Repl& repl, std::string_view what);

}  // namespace rldb::ui
