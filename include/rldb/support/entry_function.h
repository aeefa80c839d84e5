// The function that runs where none is named: what TVM's frontends call the one they make.
#pragma once

#include <string_view>

namespace rldb::support {

inline constexpr std::string_view kEntryFunction = "main";

}  // namespace rldb::support
