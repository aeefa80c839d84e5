// What a text calls nodes, where that is not the node's own name: `%0` for the value of a graph variable. Passes that
// bind such a value to a variable name the variable so; `_` is a variable that no text knows; one
// whose name is empty belongs to the binding behind it (the storage of a result).
#pragma once

#include <string>
#include <unordered_map>

#include "rldb/relay/ir/expr.h"

namespace rldb::relay {

using TextNames = std::unordered_map<const Expr*, std::string>;

}  // namespace rldb::relay
