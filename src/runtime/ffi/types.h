// The table of types of the C ABI, and the layout of maps, which tvm-ffi's C header does not declare. Room-private.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rldb/runtime/ffi_abi.h"

namespace rldb::runtime::ffi {

// After the head of a Map or Dict. `slots` with kSmallMap: `data` is an array of `size` pairs. Otherwise blocks of 16
// marks and 16 items, and the items are linked in the order of insertion.
struct MapCell {
  void* data;
  std::uint64_t size;
  std::uint64_t slots;
  void (*data_deleter)(void*);
};
inline constexpr std::uint64_t kSmallMap = std::uint64_t(1) << 63;
struct DenseMapCell : MapCell {
  std::uint32_t shift;
  std::uint64_t first;
  std::uint64_t last;
};
struct DenseItem {
  TVMFFIAny key, value;
  std::uint64_t previous, next;
};
inline constexpr std::uint64_t kBlockItems = 16;
inline constexpr std::uint64_t kNoItem = ~std::uint64_t(0);

// Registers it below Object if it is new.
std::int32_t type_index_of(std::string_view key);
// "ffi.Tensor"; "type 9999" when nobody registered it.
std::string type_name(std::int32_t index);

}  // namespace rldb::runtime::ffi
