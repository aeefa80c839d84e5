// The TensorIR of a program's primitives, for whoever steps through their calls. Room-private.
#pragma once

#include "rldb/ir/context.h"
#include "rldb/relay/run/program.h"

namespace rldb::relay_run {

// The kernel that a Relax function of a legalised module consists of, which takes its parameters in order and fills the
// tensors of its result; empty: it does more.
std::string_view only_kernel(const ir::Module* legal, std::string_view function);

// The primitive function `f` as the Relax function `name` of a module, legalised, of one kernel where that can be: its
// operators' kernels one after the other. Null: diagnosed.
const ir::Module* one_kernel(ir::Context& ctx, relay::Context& relay, const relay::Function& f, std::string_view name,
                             source::Diagnostics& out);

// A module with a PrimFunc under the name of each primitive that is one kernel over known dims. What cannot be
// translated is not in it.
const ir::Module* kernel_texts(ir::Context& ctx, const Program& program);

}  // namespace rldb::relay_run
