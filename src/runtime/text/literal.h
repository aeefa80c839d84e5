// Pieces of the literal readers that value_literal.cc and list_literal.cc share.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

#include "rldb/runtime/dtype.h"
#include "rldb/runtime/error.h"

namespace rldb::runtime {

inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

// The whole of a text as a number.
template <class T>
bool parse_all(std::string_view text, T& out) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Writes one element; an error when the text is no value of the type.
Result<support::Unit> store_element(std::string_view text, DType t, void* to);

}  // namespace rldb::runtime
