// Flags of command.def that classify entries.
#pragma once

#include <string_view>

namespace rldb::ui {

// Beside those of CommandFlags (command.h).
enum EntryFlags : unsigned {
  kChecks = 1024,  // checks the entry before it
  kRuns = 2048     // starts a run
};

// The entry is a command with this flag: ` :expect value == 7`.
bool is_entry_of(std::string_view entry, EntryFlags flag);

}  // namespace rldb::ui
