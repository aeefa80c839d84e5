#include "source/utf8.h"

#include <algorithm>
#include <array>

namespace rldb::source {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Coarse on purpose: a caret that is off by one under a rare script is not worth a Unicode table.
constexpr std::array kZeroWidth = std::to_array<Range>({
    {0x0300, 0x036F},
    {0x0483, 0x0489},
    {0x0591, 0x05BD},
    {0x064B, 0x065F},
    {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF},
    {0x200B, 0x200F},
    {0x202A, 0x202E},
    {0x2060, 0x2064},
    {0x20D0, 0x20FF},
    {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F},
    {0xFEFF, 0xFEFF},
    {0xE0100, 0xE01EF},
});
constexpr std::array kWide = std::to_array<Range>({
    {0x1100, 0x115F},
    {0x2E80, 0x303E},
    {0x3041, 0x33FF},
    {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},
    {0xA000, 0xA4CF},
    {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF},
    {0x1F900, 0x1F9FF},
    {0x1FA70, 0x1FAFF},
    {0x20000, 0x3FFFD},
});

template <std::size_t N>
bool contains(const std::array<Range, N>& ranges, char32_t c) {
  auto it = std::upper_bound(ranges.begin(), ranges.end(), c, [](char32_t v, const Range& r) { return v < r.first; });
  return it != ranges.begin() && c <= std::prev(it)->last;
}

}  // namespace

CodePoint decode(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const CodePoint broken{lead, 1, false};
  if (lead < 0x80) return {lead, 1, true};
  int length = 0;
  char32_t value = 0;
  char32_t least = 0;
  if ((lead & 0xE0) == 0xC0) {
    length = 2, value = lead & 0x1F, least = 0x80;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3, value = lead & 0x0F, least = 0x800;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4, value = lead & 0x07, least = 0x10000;
  } else {
    return broken;
  }
  if (text.size() - at < std::size_t(length)) return broken;
  for (int i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + std::size_t(i)]);
    if ((next & 0xC0) != 0x80) return broken;
    value = (value << 6) | (next & 0x3F);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < least || value > 0x10FFFF || surrogate) return broken;
  return {value, std::uint8_t(length), true};
}

int display_width(char32_t c) {
  if (c < 0x300) return 1;
  if (contains(kZeroWidth, c)) return 0;
  return contains(kWide, c) ? 2 : 1;
}

}  // namespace rldb::source
