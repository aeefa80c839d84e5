// `:info NAME` and `:type NAME` for a function of the module, and for a binding or parameter of a Relax function.
#pragma once

#include <string>
#include <string_view>

#include "rldb/ir/expr.h"
#include "rldb/ui/prompt/command.h"

namespace rldb::ui {

// The function of the selected frame, under its original name; without a run, main.
std::string function_at_hand(Repl& repl);
// `lv1` (of the frame's function, else main), `main:lv1`. False: there is none, nothing was shown.
bool show_binding(Repl& repl, std::string_view what);
// A symbolic variable of the selected frame, or a local that is not a binding of the text. False: there is none.
bool show_frame_name(Repl& repl, std::string_view what);

// "relax function", "prim func", "extern", "python function".
std::string_view kind_of_function(const ir::Expr* f);
// With as many parameters as fit into `columns`.
std::string short_signature(const ir::Expr* f, std::size_t columns);
// Several lines: place, parameters, size, callees and callers.
void show_function(Repl& repl, std::string_view name, const ir::Expr* f);

}  // namespace rldb::ui
