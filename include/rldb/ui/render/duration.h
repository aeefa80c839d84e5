// Durations as text, in the unit that suits them.
#pragma once

#include <cstdint>
#include <string>

namespace rldb::ui {

// `1.5 ms`, `12 us`.
std::string format_duration(std::uint64_t nanoseconds);

}  // namespace rldb::ui
