// Pieces of the literal readers that value_literal.cc and list_literal.cc share.
#pragma once

#include <charconv>
#include <cstdint>
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

constexpr int kMaxLiteralDepth = 64;    // of nested tuples or lists
constexpr std::size_t kShownText = 60;  // of a text, in a message

inline support::Failure<Error> bad_literal(std::string text) { return fail(ErrorKind::TypeMismatch, std::move(text)); }

// A number with underscores or in another base, as in a module: `1_000`, `0x1F`.
bool parse_python(std::string_view text, std::int64_t& out);
bool parse_python(std::string_view text, double& out);
inline bool parse_python(std::string_view, std::uint64_t&) { return false; }  // as an int64, where it fits

// The whole of a text as a number.
template <class T>
bool parse_all(std::string_view text, T& out) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return true;
  return parse_python(text, out);
}

// Writes one element; an error when the text is not a value of the type.
Result<support::Unit> store_element(std::string_view text, DType t, void* to);

}  // namespace rldb::runtime
