// Numbers as Python writes them, without a sign: in modules, expressions and inputs alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rldb::support {

// 12, 1_000, 0x1F, 0o17, 0b11; nullopt when it does not fit in int64 (`too_big` is then set).
std::optional<std::int64_t> read_integer(std::string_view text, bool& too_big);
// 1.5, 1e-5, .5, 1_0.0; nullopt for imaginary numbers.
std::optional<double> read_float(std::string_view text);

}  // namespace rldb::support
