// Common mistakes in Relay text, found by the tokens around damage: tree-sitter tells where its tree ends, not what is
// missing. Room-private.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "rldb/source/diagnostic.h"

namespace rldb::frontend::relay_text {

struct Mistake {
  std::uint32_t begin = 0, end = 0;  // in the text
  source::Message message;
};

// The first mistake it knows in a definition's header or a statement; `at` is where the damage was seen. None: the
// damage is something else.
std::optional<Mistake> find_mistake(std::string_view text, std::uint32_t at);

}  // namespace rldb::frontend::relay_text
