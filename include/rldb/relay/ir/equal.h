// Structural equality of Relay graphs: names of variables do not count, sharing does. A node of one side corresponds to
// exactly one of the other. Not recursive: a chain of any length costs memory but no stack.
#pragma once

#include <optional>
#include <string>

#include "rldb/relay/ir/module.h"

namespace rldb::relay {

// Where two structures first differ: `@main.body.args[1]`, and both sides.
struct Difference {
  std::string path;
  std::string left;
  std::string right;
};
std::optional<Difference> first_difference(const Module* a, const Module* b);
std::optional<Difference> first_difference(const Expr* a, const Expr* b);

}  // namespace rldb::relay
