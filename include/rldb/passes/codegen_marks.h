// Functions that are marked for a code generator (attributes Primitive, Composite, Codegen) are left alone by LegalizeOps,
// as in TVM: somebody else compiles them. Who builds a module to run it has nobody else, and takes the marks off first.
// User: session.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::passes {

// The module with no function marked, local ones included; the same when none is.
const ir::Module* without_codegen_marks(ir::Context& ctx, const ir::Module* module);

}  // namespace rldb::passes
