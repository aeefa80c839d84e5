// The scope of memory shared by several devices; IPCAllReduceRewrite requests it, LowerGPUIPCAllocStorage allocates
// it.
#pragma once

#include <string_view>

namespace rldb::passes {

inline constexpr std::string_view kIpcScope = "ipc_memory";

}  // namespace rldb::passes
