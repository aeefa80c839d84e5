// Where the bytes of a tensor are, for listings of a stopped run. Used by ui.
#pragma once

#include <string>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// Of a tensor or storage: its device, as device.h writes it; the device where an engine keeps its bytes; or both, with
// "and" between, while both have them. Empty: of another value.
std::string place_of(const Value& v);

}  // namespace rldb::runtime
