// Names of nodes in a text, where they are not the node's own name: `%0` for the value of a graph variable. Passes that
// bind such a value to a variable give it that name; `_` is a variable that does not occur in a text; one
// whose name is empty belongs to the binding after it (the storage of a result).
#pragma once

#include <string>
#include <unordered_map>

#include "rldb/relay/ir/expr.h"

namespace rldb::relay {

using TextNames = std::unordered_map<const Expr*, std::string>;

}  // namespace rldb::relay
