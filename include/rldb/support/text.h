// Small things about text that every reader needs. ASCII, whatever the locale.
#pragma once

#include <string_view>

namespace rldb::support {

inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace rldb::support
