// The TensorIR of a program's primitives, for whoever steps through their calls. Room-private.
#pragma once

#include "rldb/ir/context.h"
#include "rldb/relay/run/program.h"

namespace rldb::relay_run {

// The kernel that a Relax function of a legalised module consists of, which takes its parameters in order and fills one
// tensor; empty: it does more.
std::string_view only_kernel(const ir::Module* legal, std::string_view function);

// A module with a PrimFunc under the name of each primitive that is one kernel over known dims. What cannot be
// translated is not in it.
const ir::Module* kernel_texts(ir::Context& ctx, const Program& program);

}  // namespace rldb::relay_run
