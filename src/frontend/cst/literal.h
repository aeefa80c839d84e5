// Python literals as written in TVMScript: strings with prefixes and escapes, integers, floats.
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

// 12, 1_000, 0x1F, 0o17, 0b11; nullopt when it does not fit in int64 (`too_big` is then set).
std::optional<std::int64_t> parse_integer(std::string_view text, bool& too_big);
// 1.5, 1e-5, .5, 1_0.0; nullopt for imaginary numbers.
std::optional<double> parse_float(std::string_view text);

}  // namespace rldb::frontend::cst
