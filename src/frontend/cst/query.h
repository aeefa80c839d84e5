// Queries of the prompt on the tree of an entry: whether it is complete. Those of a text that changes are behind
// EntryTree, in query.cc.
#pragma once

#include <optional>

#include "frontend/cst/tree.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/unfinished.h"

namespace rldb::frontend::cst {

Completeness completeness(std::string_view text);
// The same in its two steps: what brackets and strings tell, if they tell it; then what the last statement tells, and
// whether the text ends in a header without its block.
std::optional<Completeness> completeness_by_brackets(std::string_view text);
Completeness completeness_by_statement(std::string_view text, Kind last, bool ends_in_header);
std::optional<ClosedEntry> close_brackets(std::string_view text);
int next_indent(std::string_view text);

}  // namespace rldb::frontend::cst
