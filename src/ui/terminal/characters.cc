// Lengths and widths of UTF-8 characters; the displayed form of a text.
#include "rldb/ui/terminal/characters.h"

#include <utf8proc.h>

#include <algorithm>

namespace rldb::ui {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::int32_t kJoiner = 0x200D;
constexpr std::int32_t kEmojiStyle = 0xFE0F;

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Some terminals draw it as one picture, others as its parts.
bool widens(std::int32_t c) {
  return c == kJoiner || c == kEmojiStyle || (c >= 0x1F1E6 && c <= 0x1F1FF) || (c >= 0x1F3FB && c <= 0x1F3FF);
}

}  // namespace

std::size_t decode(std::string_view text, std::int32_t& c) {
  c = static_cast<unsigned char>(text[0]);
  if (c < 0x80) return 1;
  utf8proc_int32_t decoded = -1;
  const auto length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), utf8proc_ssize_t(text.size()), &decoded);
  if (length <= 0 || decoded < 0) return 1;
  c = decoded;
  return std::size_t(length);
}

std::size_t next_character(std::string_view text, std::size_t at) {
  if (at >= text.size()) return text.size();
  std::int32_t last = 0;
  std::size_t end = at + decode(text.substr(at), last);
  if (end - at == 1 && (end == text.size() || is_ascii(text[end]))) return end;
  utf8proc_int32_t state = 0;
  while (end < text.size() && !is_ascii(text[end])) {
    std::int32_t c = 0;
    const std::size_t length = decode(text.substr(end), c);
    const bool broken = length == 1 || (end - at == 1 && !is_ascii(text[at]));
    if (broken || utf8proc_grapheme_break_stateful(last, c, &state)) break;
    last = c;
    end += length;
  }
  return end;
}

std::size_t previous_character(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  if (at == 0) return 0;
  // There is always a boundary before an ASCII character.
  std::size_t start = at - 1;
  while (start > 0 && !is_ascii(text[start])) --start;
  while (true) {
    const std::size_t next = next_character(text, start);
    if (next >= at) return start;
    start = next;
  }
}

ShownCharacter shown_character(std::string_view character) {
  std::int32_t c = 0;
  const std::size_t length = decode(character, c);
  if (length == 1) {
    if (c >= 0x20 && c < 0x7F && character.size() == 1) return {std::string(character), 1, false};
    if (c < 0x20 || c == 0x7F) return {{'^', char(c ^ 0x40)}, 2, false};
    if (c >= 0x80) return {std::string(kReplacement), 1, false};
  }
  int columns = 0;
  bool uncertain = false;
  for (std::size_t i = 0; i < character.size();) {
    i += decode(character.substr(i), c);
    if (i == length && utf8proc_charwidth(c) == 0) return {std::string(kReplacement), 1, false};
    columns += utf8proc_charwidth(c);
    uncertain = uncertain || widens(c);
  }
  return {std::string(character), uncertain ? 2 : columns, uncertain};
}

int columns_of(std::string_view text) {
  int columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = next_character(text, i);
    columns += shown_character(text.substr(i, end - i)).columns;
    i = end;
  }
  return columns;
}

std::string first_columns(std::string_view text, int width) {
  std::string shown;
  for (std::size_t at = 0, next = 0; at < text.size(); at = next) {
    next = next_character(text, at);
    const ShownCharacter c = shown_character(text.substr(at, next - at));
    if (c.columns > width) break;
    width -= c.columns;
    shown += c.text;
  }
  return shown;
}

}  // namespace rldb::ui
