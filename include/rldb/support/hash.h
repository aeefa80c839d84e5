// FNV-1a, 64 bits: names of files by their contents, changes of a text. Not a protection against malice.
#pragma once

#include <cstdint>
#include <string_view>

namespace rldb::support {

// `h`: the hash so far, for bytes in several pieces.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t h = 0xcbf29ce484222325ULL) {
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

}  // namespace rldb::support
