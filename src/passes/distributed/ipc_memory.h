// The scope of memory that several devices share; IPCAllReduceRewrite asks for it, LowerGPUIPCAllocStorage allocates
// it.
#pragma once

#include <string_view>

namespace rldb::passes {

inline constexpr std::string_view kIpcScope = "ipc_memory";

}  // namespace rldb::passes
