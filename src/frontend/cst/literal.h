// Python's strings as written in TVMScript, with prefixes and escapes. Numbers: support/number_literal.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rldb::frontend::cst {

struct StringLiteral {
  std::string_view body;     // between the quotes, as written
  std::uint32_t offset = 0;  // of `body` in the literal
  bool plain = true;         // no escapes: `body` is the value
  bool raw = false;
  bool formatted = false;  // f"..."
  bool bytes = false;
};
// `text` is a whole string token.
StringLiteral split_string(std::string_view text);
// The value: escapes resolved. nullopt when an escape is malformed.
std::optional<std::string> unescape(const StringLiteral& s);

}  // namespace rldb::frontend::cst
