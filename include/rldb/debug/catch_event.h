// Events that `catch` stops at; `call`, `shape` and `slot` are followed by a name. Users: debug (catch), completion.
#pragma once

#include <array>
#include <string_view>

namespace rldb::debug {

inline constexpr std::array<std::string_view, 9> kCatchEvents = {"nan",  "inf",  "denormal", "error", "alloc",
                                                                 "free", "call", "shape",    "slot"};

}  // namespace rldb::debug
