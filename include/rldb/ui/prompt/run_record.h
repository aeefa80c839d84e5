// A run as a file: what `:save-run` and `rldb run --record` write, and opening it again. The form is run_file.h's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rldb/ui/prompt/run_file.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

// Of the debugger's run: the program, options, arguments, place, digests, breakpoints. Nullopt: there is no run, or it
// does not depend on these alone; diagnosed.
std::optional<RunFile> run_of(session::Session& session, const debug::Debugger& debugger, source::Diagnostics& out);

// Writes it; tells the size. False: diagnosed.
struct WrittenRun {
  std::size_t bytes = 0;
};
std::optional<WrittenRun> write_run(const std::string& path, const RunFile& run, source::Diagnostics& out);

// The file begins as a recorded run.
bool is_run_file_at(const std::string& path);
// Restores the session of the run, and stands where it stood. Anything that cannot be restored is told.
Status open_run(Repl& repl, const std::string& path);

}  // namespace rldb::ui
