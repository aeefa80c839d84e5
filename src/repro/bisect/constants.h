// Constants that a dump printed without their data (`metadata["relax.expr.Constant"][0]`). Room-private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/runtime/value.h"

namespace rldb::repro {

struct MissingConstants {
  std::vector<const ir::TensorType*> types;  // by index; null: not known
  std::string unknown;                       // the first whose type is not known, as text; empty: none
  // What an unknown one may be: the type of the result that it is computed into.
  std::vector<const ir::TensorType*> guesses;
};
// What a module says about the types of its missing constants: annotations, and the kernels they are given to.
MissingConstants missing_constants(const ir::Module* module);

// Values by index; none: not known.
using ConstantValues = std::vector<std::optional<runtime::Value>>;
// The module with values for its missing constants: those that are known, made up ones for the others. Null: a value
// cannot be made.
const ir::Module* fill_constants(ir::Context& ctx, const ir::Module* module,
                                 const std::vector<const ir::TensorType*>& types, const ConstantValues& known,
                                 std::uint64_t seed);

}  // namespace rldb::repro
