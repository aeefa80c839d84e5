// `:info NAME` for a binding or parameter of a Relax function.
#pragma once

#include <string_view>

#include "ui/repl/commands/command.h"

namespace rldb::ui {

// `lv1` (of the frame's function, else main), `main:lv1`. False: there is none, nothing was shown.
bool show_binding(Repl& repl, std::string_view what);

}  // namespace rldb::ui
