// The graph of a function for which there is only code: its variables, and which of them each is computed from, read
// off the registers that the instructions of a binding read. Room-private.
#pragma once

#include "debug/look/code_map.h"
#include "rldb/debug/graph.h"

namespace rldb::debug {

void add_code(const CodeMap& map, FunctionIndex function, BindingGraph& out);

}  // namespace rldb::debug
