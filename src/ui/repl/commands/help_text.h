// The sessions of docs/help, which are in the program: what `:help TOPIC` and `:tour` show, and where the examples of
// `:help COMMAND` are taken from. They are run by the tests like every session, so what is shown is what happens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ui/repl/commands/command.h"

namespace rldb::ui {

struct HelpSession {
  std::string_view name;  // of the file, without its ending
  std::string_view text;
};
// Written by CMake (src/CMakeLists.txt).
const std::vector<HelpSession>& help_sessions();
const HelpSession* find_help_session(std::string_view name);
// What the first comment says: `Stepping: run a function, ...`.
std::string_view title_of(const HelpSession& session);

// A session as it looks at the prompt: entries behind `rldb> `, replies as they are, what explains them in lines of at
// most so many columns.
std::string transcript(std::string_view session, std::size_t columns = std::size_t(-1));
// The first entry of a help session that gives the command, and the beginning of its reply; empty: there is none.
std::string example_of(const Command& command);

// Comments before an entry, and the entry.
struct TourStep {
  std::string comment, entry;
};
std::vector<TourStep> tour_steps(std::size_t columns = std::size_t(-1));

}  // namespace rldb::ui
