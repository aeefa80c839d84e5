// What a prompt asks of the tree while it is typed: highlighting, and whether the entry is complete.
#pragma once

#include "rldb/frontend/parse.h"

namespace rldb::frontend::cst {

std::vector<Highlight> highlight(std::string_view text);
Completeness completeness(std::string_view text);
int next_indent(std::string_view text);

}  // namespace rldb::frontend::cst
