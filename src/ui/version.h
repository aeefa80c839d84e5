// The program's version, as it tells it.
#pragma once

namespace rldb::ui {

inline constexpr char kVersion[] = "0.1.0";  // of CMakeLists.txt

}  // namespace rldb::ui
