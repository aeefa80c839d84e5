// Recompute: the value of a binding that the running code does not hold: fused, merged, folded, inlined, or an alias.
//
// The binding and those before it that have no value either become one function over the existing values, and the
// evaluator calls it. Users: ValueFinder.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "debug/look/code_map.h"

namespace rldb::debug {

// The value of a variable, or of a symbolic one, if it is available without computation; else nullopt.
using Lookup = std::function<std::optional<runtime::Value>(const ir::Var*)>;

struct Recomputed {
  runtime::Value value;
  std::vector<std::string> from;                               // names of the values from which it was computed
  std::vector<std::pair<std::string, runtime::Value>> inputs;  // those that are not symbolic variables
};

// `binding` of `map`. Errors: a required value that is missing (named), an effect that
// must not be repeated, and the errors of the evaluator. `watcher` sees the kernels
// called.
runtime::Result<Recomputed> recompute(session::Session& session, const CodeMap& map, int binding, const Lookup& lookup,
                                      eval::Watcher* watcher = nullptr);

}  // namespace rldb::debug
