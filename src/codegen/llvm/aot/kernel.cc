// Kernels as object code with lines.
#include "codegen/llvm/engine/compile.h"
#include "codegen/llvm/engine/emitted.h"
#include "rldb/codegen/llvm/aot.h"
#include "rldb/eval/eval.h"

namespace rldb::codegen {

ir::Result<const ir::PrimFunc*> scheduled_kernel(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                                 const JitOptions& options) {
  return emitted(ctx, f, name, options);
}

ir::Result<AotKernel> compile_kernel(const ir::PrimFunc* f, const ir::PrimFunc* original, std::string_view name,
                                     std::string symbol, const JitOptions& options, const SourceLines& lines) {
  RLDB_TRY(runtime::KernelSignature signature, eval::signature_of(original, name));
  CompileOptions wanted;
  wanted.fp = options.fp;
  wanted.check_bounds = options.check_bounds;
  wanted.opt_level = options.opt_level;
  wanted.symbol = std::move(symbol);
  wanted.lines = &lines;
  RLDB_TRY(Artefact made, compile(f, signature, wanted));
  AotKernel kernel;
  kernel.signature = std::move(made.signature);
  kernel.symbol = std::move(made.symbol);
  kernel.object = std::move(made.object);
  for (FaultRow& row : made.faults) kernel.faults.push_back({row.kind, std::move(row.text), std::move(row.note)});
  return kernel;
}

}  // namespace rldb::codegen
