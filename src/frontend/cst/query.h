// Queries of the prompt on the tree of an entry: whether it is complete. Highlighting is in query.cc too,
// behind its class Highlighter.
#pragma once

#include "rldb/frontend/parse.h"
#include "rldb/frontend/unfinished.h"

namespace rldb::frontend::cst {

Completeness completeness(std::string_view text);
std::optional<ClosedEntry> close_brackets(std::string_view text);
int next_indent(std::string_view text);

}  // namespace rldb::frontend::cst
