#include "source/utf8.h"

#include <utf8proc.h>

namespace rldb::source {

CodePoint decode(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1, true};
  utf8proc_int32_t value = -1;
  const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                                                   static_cast<utf8proc_ssize_t>(text.size() - at), &value);
  if (length <= 0 || value < 0) return {lead, 1, false};
  return {static_cast<char32_t>(value), static_cast<std::uint8_t>(length), true};
}

int display_width(char32_t c) { return c < 0x300 ? 1 : utf8proc_charwidth(static_cast<utf8proc_int32_t>(c)); }

}  // namespace rldb::source
