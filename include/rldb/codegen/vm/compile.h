// VM code generation: a lowered module -> executable with debug info (TVM: CodeGenVM in src/relax/backend/vm; RFC 0089
// section 4.3).
//
// Input: a module after the minimum build (docs/passes.md). Anything left for which the machine has no instruction
// is diagnosed at its span (`CodeGenVM cannot handle ...`). Debug info maps every instruction to its binding, span
// and shape-heap slots; node ids are those of the lowered module (follow ctx.origins() back to the text).
// PrimFuncs of the module become table entries of their name; their code is the kernel table's. User: session.
#pragma once

#include "rldb/bytecode/executable.h"
#include "rldb/ir/context.h"

namespace rldb::codegen {

ir::Result<bytecode::Executable> compile_vm(ir::Context& ctx, const ir::Module* module, source::Diagnostics& out);

}  // namespace rldb::codegen
