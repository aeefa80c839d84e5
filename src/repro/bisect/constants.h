// Constants that a dump printed without their data (`metadata["relax.expr.Constant"][0]`). Room-private.
#pragma once

#include <string>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::repro {

struct MissingConstants {
  std::vector<const ir::TensorType*> types;  // by index; null: not known
  std::string unknown;                       // the first whose type is not known, as text; empty: none
};
// What a module says about the types of its missing constants: annotations, and the kernels they are given to.
MissingConstants missing_constants(const ir::Module* module);
// The module with values made up for them. Null: a value cannot be made.
const ir::Module* fill_constants(ir::Context& ctx, const ir::Module* module, const MissingConstants& missing,
                                 std::uint64_t seed);

}  // namespace rldb::repro
