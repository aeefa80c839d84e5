// The commands about passes and versions for a Relay text on the Relay VM, whose versions come from its compiler. Each
// command checks `is_relay` first. Users: the commands of these names.
#pragma once

#include "rldb/session/relay_machine.h"
#include "ui/repl/entry/state.h"
#include "ui/text_diff.h"

namespace rldb::ui {

bool is_relay(Repl& repl);
// The text from which it was loaded; null: there is none.
const source::Buffer* relay_text(Repl& repl);

Status relay_passes(Repl& repl, std::string_view rest);
Status relay_run_passes(Repl& repl, std::string_view pipeline, bool show_diff);
Status relay_step_pass(Repl& repl);
Status relay_pipelines(Repl& repl);
Status relay_list_versions(Repl& repl);
Status relay_diff(Repl& repl, std::string_view rest, const std::optional<DiffLayout>& layout);
Status relay_rewind(Repl& repl, std::string_view rest);
Status relay_undo(Repl& repl, bool redo);
Status relay_bookmark(Repl& repl, std::string_view rest);
Status relay_validate(Repl& repl, std::string_view rest);
// Shows the text of the current version, or of one of its functions.
Status relay_show(Repl& repl, std::string_view rest);

}  // namespace rldb::ui
