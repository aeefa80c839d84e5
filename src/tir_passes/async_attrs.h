// Keys of attributes about asynchronous copies: a pipeline writes them, synchronisation of threads and the passes that
// make the copies read them.
#pragma once

#include <string_view>

namespace rldb::passes {

inline constexpr std::string_view kAsyncScope = "async_scope";
inline constexpr std::string_view kWaitQueue = "async_wait_queue_scope", kWaitCount = "async_wait_inflight_count";

}  // namespace rldb::passes
