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

}  // namespace rldb::codegen
