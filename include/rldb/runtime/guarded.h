// Guarded storage: for code that does not check its accesses. While it is on, each new Storage lies between pages that
// nobody may touch, its end as close to the following page as its alignment permits, and the bytes between hold a known
// pattern. A wild access is then a signal, or is found by `intact`. Used by session (on and off), codegen/llvm (intact
// at the end of an unchecked call).
#pragma once

#include "rldb/runtime/value.h"

namespace rldb::runtime {

bool guarded_storage();
void set_guarded_storage(bool on);

// Whether the bytes around it are unchanged. True for storage that is not guarded.
bool intact(const Storage& storage);

// Only for Storage: zeroed memory, null when the system has no more, or too many are alive (16,384); and its release,
// false when it was not guarded.
std::byte* map_guarded(std::size_t bytes);
bool unmap_guarded(std::byte* data, std::size_t bytes);

}  // namespace rldb::runtime
