// Author: who wrote an entry. Its rights depend on that, not on who causes it to be executed: wherever an entry is kept
// to be executed later, its author is kept with it. Used by the commands of breakpoints, and by ui for
// aliases, saved scripts and the journal.
#pragma once

#include <cstdint>
#include <string>

namespace rldb::debug {

struct Author {
  std::string script;  // not named by the user when starting rldb; empty: the user wrote the entry, or named its script
  std::uint32_t line = 0;
  bool is_user() const { return script.empty(); }
};

// An entry that is executed later.
struct StoredEntry {
  std::string text;
  Author author;
};

}  // namespace rldb::debug
