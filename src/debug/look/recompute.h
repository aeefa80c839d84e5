// Recompute: the value of a binding that the running code does not hold: fused, merged, folded, inlined, or an alias.
//
// The binding and those before it that have no value either become one function over the values that are there, and
// the evaluator calls it. Users: ValueFinder.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "debug/look/code_map.h"

namespace rldb::debug {

// The value of a variable, or of a symbolic one, when it is there without being computed. Nullopt: it is not.
using Lookup = std::function<std::optional<runtime::Value>(const ir::Var*)>;

struct Recomputed {
  runtime::Value value;
  std::vector<std::string> from;                               // names of the values it was computed from
  std::vector<std::pair<std::string, runtime::Value>> inputs;  // those of them that are no symbolic variables
};

// `binding` of `map`. Errors: a value that is needed and not there (named), an effect that must not be repeated, and
// what the evaluator says.
// `watcher` sees the kernels that are called.
runtime::Result<Recomputed> recompute(session::Session& session, const CodeMap& map, int binding, const Lookup& lookup,
                                      eval::Watcher* watcher = nullptr);

}  // namespace rldb::debug
