// The function that code is generated for: threads as loops, with the default schedule. Internal to the room.
#pragma once

#include "rldb/codegen/llvm/jit.h"

namespace rldb::codegen {

source::Message unsupported(std::string_view name, std::string_view why);

// In two steps: without threads, as it is written; then with the default schedule.
ir::Result<const ir::PrimFunc*> lowerable(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name);
const ir::PrimFunc* scheduled(ir::Context& ctx, const ir::PrimFunc* f, const JitOptions& options);
ir::Result<const ir::PrimFunc*> emitted(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                        const JitOptions& options);

// A kernel's code: it may be that of a function over one flat dim, which kernels share that differ only in their dims
// (rldb/schedule/flat_form.h).
struct CodeSource {
  const ir::PrimFunc* func;            // what the code is named by in caches
  const ir::PrimFunc* written;         // lowerable
  const ir::PrimFunc* emitted;         // scheduled
  runtime::KernelSignature signature;  // of the code: if flat, its only variable is the number of elements
  bool flat;
};
ir::Result<CodeSource> code_source(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                   const JitOptions& options);

// A form that schedules made of a kernel, which first writes the results of reductions over no elements
// (rldb/eval/empty_reduction.h): they may not be found again in it.
const ir::PrimFunc* with_begun(ir::Context& ctx, const ir::PrimFunc* written, const ir::PrimFunc* made);

}  // namespace rldb::codegen
