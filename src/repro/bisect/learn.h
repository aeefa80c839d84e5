// Values that the previous version has in place of a version's constants: the data that a dump left out, and the
// parameters that were bound. Bindings are paired by function, name and callee. Room-private.
#pragma once

#include "repro/bisect/constants.h"
#include "rldb/repro/compare.h"

namespace rldb::repro {

// The same operand of the same binding.
struct Replaced {
  std::string function;
  const ir::Expr* before;
  const ir::Expr* now;  // a Constant or MetaConstant
};
std::vector<Replaced> replaced_by_constants(const ir::Module* before, const ir::Module* now);

// Values of the missing constants of `now`, of types `types`: those that `before` computes, receives, or has as
// constants in their place. It is run if necessary.
ConstantValues learn_constants(session::Session& session, const Program& before, const ir::Module* now,
                               const std::vector<const ir::TensorType*>& types);

// The arguments of `before` with the constants that replace parameters in `now`; nullopt: no parameter was bound.
std::optional<std::vector<runtime::Value>> bound_arguments(const Program& before, const ir::Module* now);

}  // namespace rldb::repro
