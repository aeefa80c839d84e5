// Relay to Relax: a typed Relay module becomes a Relax module that everything in rldb works on.
//
// Functions, closures, branches and recursion are Relax's; `?` dims become symbolic variables, bound by parameters and
// by match_cast; values of algebraic data types are objects, created and inspected by builtins (`rldb.adt.*`). Each new
// node has the place of the Relay expression it comes from. A construct that cannot be translated is an error naming
// it: references, operators without a row, operators whose types are not known. Users: session, relay code generation.
#pragma once

#include "rldb/ir/context.h"
#include "rldb/relay/ir/context.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/source/diagnostic.h"

namespace rldb::relay {

// The whole module, whose types `typing` holds (infer.h). Null after errors, which are at the expressions' places.
const ir::Module* to_relax(ir::Context& ctx, const Context& relay, const Module& module, const Typing& typing,
                           source::Diagnostics& out);

// One function without free variables, over tensors and tuples of tensors, as a Relax module: the function under
// `name`, and the kernels of operations that Relax has no operator for. Parameters have types. Null after errors.
const ir::Module* primitive_to_relax(ir::Context& ctx, Context& relay, const Function& function, std::string_view name,
                                     source::Diagnostics& out);

}  // namespace rldb::relay
