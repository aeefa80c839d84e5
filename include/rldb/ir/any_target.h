// The name that stands for every kind of target where a text names a device by its place in the module's list:
// "vdevice:1" is the second of all devices. Users: frontend, eval.
#pragma once

#include <string_view>

namespace rldb::ir {

inline constexpr std::string_view kAnyTarget = "vdevice";

}  // namespace rldb::ir
