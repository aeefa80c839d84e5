// The names of packed functions of devices' runtimes, which rldb does not have: device_function::ThrustSort is
// "tvm.contrib.thrust.sort".
#pragma once

#include <string_view>

namespace rldb {

namespace device_function {
#define RLDB_DEVICE_FUNCTION(id, name, doc) inline constexpr std::string_view id = name;
#include "rldb/bytecode/device_function.def"
}  // namespace device_function

namespace bytecode {
bool is_device_function(std::string_view name);
}

}  // namespace rldb
