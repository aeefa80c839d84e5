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
  std::string unknown;                       // the first of unknown type, as text; empty: none
  // Possible type of an unknown one: the type of the result computed from it.
  std::vector<const ir::TensorType*> guesses;
};
// The types of a module's missing constants: from annotations, and from the kernels to which they are passed.
MissingConstants missing_constants(const ir::Module* module);

// Values by index; none: not known.
using ConstantValues = std::vector<std::optional<runtime::Value>>;
// The module with values for its missing constants: known ones where available, generated ones otherwise. Null: a value
// cannot be generated.
const ir::Module* fill_constants(ir::Context& ctx, const ir::Module* module,
                                 const std::vector<const ir::TensorType*>& types, const ConstantValues& known,
                                 std::uint64_t seed);

}  // namespace rldb::repro
