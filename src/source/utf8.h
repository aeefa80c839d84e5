// UTF-8, one code point at a time, for columns and for the renderer.
//
// Decoding never fails: a byte that starts no well-formed sequence is a unit of its own (`valid` false), so offsets
// into malformed text still have columns. Used inside source only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rldb::source {

struct CodePoint {
  char32_t value = 0;
  std::uint8_t bytes = 1;
  bool valid = true;
};

// The code point that starts at text[at]; `at` must be inside the text.
CodePoint decode(std::string_view text, std::size_t at);

// Terminal columns: 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
int display_width(char32_t c);

}  // namespace rldb::source
