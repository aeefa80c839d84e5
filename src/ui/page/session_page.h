// The page of a session: each entry with what came of it.
#pragma once

#include <string>

#include "ui/repl/entry/record.h"

namespace rldb::ui {

// `program`: what is loaded; empty: nothing. `made`: when, as text. Entries that have not ended are left out.
std::string session_page(const SessionRecord& record, std::string_view program, std::string_view made);

// How many that is.
std::size_t ended_entries(const SessionRecord& record);

}  // namespace rldb::ui
