// Pieces of the literal readers that value_literal.cc and list_literal.cc share.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "rldb/runtime/dtype.h"
#include "rldb/runtime/error.h"
#include "rldb/support/text.h"

namespace rldb::runtime {

using support::is_blank;
using support::trim;

constexpr int kMaxLiteralDepth = 64;  // of nested tuples or lists

inline support::Failure<Error> bad_literal(std::string text) { return fail(ErrorKind::TypeMismatch, std::move(text)); }

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

// Writes one element; an error when the text is not a value of the type.
Result<support::Unit> store_element(std::string_view text, DType t, void* to);

}  // namespace rldb::runtime
