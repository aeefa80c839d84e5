// Whether a program is defined on its inputs, as far as shapes tell. Room-private.
#pragma once

#include <string>

#include "rldb/ir/context.h"
#include "rldb/repro/trace.h"

namespace rldb::repro {

// The first operator of the function that does not take operands of the shapes that it got in this run; empty: none.
// Kernels made for symbolic dims do not check that these fit: they read what they need, and a pass may make them read
// something else.
std::string wrong_shapes(ir::Context& ctx, const ir::Module* module, const std::string& function, const Trace& run);

}  // namespace rldb::repro
