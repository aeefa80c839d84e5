// Questions of the prompt to the tree of an entry. Those of a text that changes are behind EntryTree, in query.cc.
#pragma once

#include <optional>

#include "frontend/cst/parser.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/unfinished.h"

namespace rldb::frontend::cst {

Completeness completeness(const LiveTree& tree, std::string_view text);
std::optional<ClosedEntry> close_brackets(std::string_view text);
OpenCall open_call(std::string_view text, std::size_t place);
int next_indent(std::string_view text);
std::optional<int> branch_indent(std::string_view text);

}  // namespace rldb::frontend::cst
