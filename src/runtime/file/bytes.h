// Little-endian words in byte strings, and sizes that do not overflow. Used by the tensor file readers; callers check
// that the bytes are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::runtime {

inline std::uint64_t read_little(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t word = 0;
  for (std::size_t i = size; i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[at + i]);
  return word;
}

inline void append_little(std::string& out, std::uint64_t word, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(word >> (8 * i) & 0xFF);
}

// Bytes of a compact array, or nothing on overflow or a negative dimension.
inline std::optional<std::size_t> byte_count(const std::vector<std::int64_t>& shape, std::size_t element) {
  std::size_t bytes = element;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) return {};
    empty |= dim == 0;
  }
  if (empty) return 0;
  for (const std::int64_t dim : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(dim), &bytes)) return {};
  }
  return bytes;
}

}  // namespace rldb::runtime
