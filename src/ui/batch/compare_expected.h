// `--expected`: a model beside the values of another framework. Room-private.
#pragma once

#include <string>

#include "rldb/session/session.h"
#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

// Inputs of a model whose values the translation needs become constants, with their values at the place. A program or
// place that cannot be read changes nothing: whoever reads it next says why.
void bind_deciding_inputs(session::Session& session, const CommandLine& line, const std::string& place);

// The exit code.
int compare_expected(session::Session& session, const CommandLine& line, Console& console);

}  // namespace rldb::ui
