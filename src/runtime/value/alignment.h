// Where the bytes of a storage begin.
#pragma once

#include <cstddef>

namespace rldb::runtime {

inline constexpr std::size_t kAlignment = 64;  // bytes, as TVM's allocators give them

}  // namespace rldb::runtime
