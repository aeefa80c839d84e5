// The tags of GPU threads ("threadIdx.x", "blockIdx.y", "vthread"), and the keys of the T.attr that launches them.
#pragma once

#include <string_view>

namespace rldb::ir {

inline constexpr std::string_view kThreadIdx = "threadIdx.", kThreadIdxX = "threadIdx.x";
inline constexpr std::string_view kBlockIdx = "blockIdx.", kBlockIdxX = "blockIdx.x";
inline constexpr std::string_view kVThread = "vthread";
inline constexpr std::string_view kThreadExtent = "thread_extent", kVirtualThread = "virtual_thread";

inline bool is_thread_idx(std::string_view tag) { return tag.starts_with(kThreadIdx); }
inline bool is_block_idx(std::string_view tag) { return tag.starts_with(kBlockIdx); }
// `vthread`, `vthread.x`
inline bool is_vthread(std::string_view tag) {
  return tag.starts_with(kVThread) && (tag.size() == kVThread.size() || tag[kVThread.size()] == '.');
}
inline bool launches_threads(std::string_view attr_key) {
  return attr_key == kThreadExtent || attr_key == kVirtualThread;
}

}  // namespace rldb::ir
