// Functions named by the rows of codegen.def and kernel_codegen.def.
#pragma once

#include "rldb/passes/codegen.h"

namespace rldb::passes {

#define RLDB_CODEGEN(id, name, function, doc) ir::Result<const ir::Attr*> function(const CodegenInput& input);
#include "rldb/passes/codegen.def"
#define RLDB_KERNEL_CODEGEN(id, name, function, doc) \
  ir::Result<const ir::Attr*> function(const KernelCodegenInput& input);
#include "rldb/passes/kernel_codegen.def"

}  // namespace rldb::passes
