// The function that runs where none is named: what TVM's frontends call the one they make.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rldb::support {

inline constexpr std::string_view kEntryFunction = "main";

// Of a program with these functions: the only one, else the usual one, which may not be there.
inline std::string default_function(const std::vector<std::string>& names) {
  return names.size() == 1 ? names[0] : std::string(kEntryFunction);
}

}  // namespace rldb::support
