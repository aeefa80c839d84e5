// The alignment of a storage's bytes.
#pragma once

#include <cstddef>

namespace rldb::runtime {

inline constexpr std::size_t kAlignment = 64;  // bytes, as in TVM's allocators

}  // namespace rldb::runtime
