// Which packed functions belong to the runtime of a device.
#include "rldb/bytecode/device_function.h"

#include <algorithm>
#include <iterator>

namespace rldb::bytecode {

namespace {

constexpr std::string_view kDeviceFunctions[] = {
#define RLDB_DEVICE_FUNCTION(id, name, doc) name,
#include "rldb/bytecode/device_function.def"
};

}  // namespace

bool is_device_function(std::string_view name) {
  return std::find(std::begin(kDeviceFunctions), std::end(kDeviceFunctions), name) != std::end(kDeviceFunctions);
}

}  // namespace rldb::bytecode
