// The program's version, as it reports it.
#pragma once

namespace rldb::ui {

inline constexpr char kVersion[] = "0.1.0";  // as in CMakeLists.txt

}  // namespace rldb::ui
