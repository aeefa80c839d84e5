// TVM passes that by their nature may change results. Room-private.
#pragma once

#include <cstdint>
#include <string_view>

namespace rldb::repro {

enum class Meant : std::uint8_t { Exact, Coarse, Any };
Meant meant_by(std::string_view pass);

}  // namespace rldb::repro
