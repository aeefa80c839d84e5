// The page of a session: each entry with its output. Notebooks show the pieces of output one by one.
#pragma once

#include <string>

#include "rldb/ui/prompt/record.h"

namespace rldb::ui {

// `program`: the loaded one; empty: none. `made`: the time, as text. Entries that have not ended are left out.
std::string session_page(const SessionRecord& record, std::string_view program, std::string_view made);

// One piece of output as a part of a page. `number` keeps the ids of pictures distinct.
std::string piece_html(const OutputPiece& piece, std::size_t number);

// The number of those that have.
std::size_t ended_entries(const SessionRecord& record);

}  // namespace rldb::ui
