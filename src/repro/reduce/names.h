// Plain, short names, the last move of the reducer. Room-private.
#pragma once

#include "repro/reduce/moves.h"

namespace rldb::repro {

// For kernels and private functions with longer names, for the parameters of Relax functions, and for their bindings.
// Symbolic dims and public functions keep theirs. Null: all names are already plain.
const ir::Module* plain_functions(ir::Context& ctx, const ir::Module* module);
const ir::Module* plain_parameters(ir::Context& ctx, const ir::Module* module);
const ir::Module* plain_bindings(ir::Context& ctx, const ir::Module* module);

}  // namespace rldb::repro
