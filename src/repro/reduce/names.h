// Plain, short names, the last move of the reducer. Room-private.
#pragma once

#include "repro/reduce/moves.h"

namespace rldb::repro {

// Of kernels and private functions that have longer ones, of the parameters of Relax functions, of their bindings.
// Symbolic dims and public functions keep theirs. Null: all of them are so named.
const ir::Module* plain_functions(ir::Context& ctx, const ir::Module* module);
const ir::Module* plain_parameters(ir::Context& ctx, const ir::Module* module);
const ir::Module* plain_bindings(ir::Context& ctx, const ir::Module* module);

}  // namespace rldb::repro
