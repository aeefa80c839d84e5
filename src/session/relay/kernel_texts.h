// The TensorIR of a program's primitives, for stepping through their calls. Room-private.
#pragma once

#include "rldb/ir/context.h"
#include "rldb/session/relay_code.h"

namespace rldb::session {

// The only kernel in a Relax function of a legalised module, if it takes the parameters in order and fills the tensors
// of the result; empty: the function does more.
std::string_view only_kernel(const ir::Module* legal, std::string_view function);

// Flat: one for each field of a tuple.
enum class Parameters : std::uint8_t { AsWritten, Flat };

// The primitive function `f` as the Relax function `name` of a module, legalised, with one kernel where possible: its
// operators' kernels in sequence. Null: diagnosed.
const ir::Module* one_kernel(ir::Context& ctx, relay::Context& relay, const relay::Function& f, std::string_view name,
                             source::Diagnostics& out, Parameters parameters = Parameters::AsWritten);

// A module with a PrimFunc for each primitive, by name, that is one kernel over known dims. Primitives that cannot be
// translated are not in it.
const ir::Module* kernel_texts(ir::Context& ctx, const RelayCode& program);

}  // namespace rldb::session
