// The report of a bug that a batch command met. Users: the program, `rldb check` (each file).
#pragma once

#include <string>

#include "rldb/ui/command_line/cli.h"

namespace rldb::ui {

// The equivalent entry at the prompt, with the module's text; where there is no such entry, the command and copies of
// the files that it read. The path of the report; empty: it could not be written.
std::string write_internal_error(const CommandLine& line, const std::string& what, const std::string& command);

}  // namespace rldb::ui
