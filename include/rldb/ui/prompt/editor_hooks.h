// The answers to the line editor about the entry that is typed: is it complete, its colours, completions, hints,
// indentation.
#pragma once

#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/line_editor.h"

namespace rldb::ui {

// An entry that cannot be analysed (a limit is reached, a bug of ours) is plain, complete and has no completions.
LineEditorHooks editor_hooks(Repl& repl, bool color);

}  // namespace rldb::ui
