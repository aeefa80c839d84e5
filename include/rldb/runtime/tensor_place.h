// Where the bytes of a tensor are, for listings of a stopped run. Used by ui.
#pragma once

#include <string>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// Of a tensor or storage: its device, `cpu` or `sim:0`; for one that an engine keeps on a device `opencl:0`, or
// `cpu and opencl:0` while both have the bytes. Empty: of another value.
std::string place_of(const Value& v);

}  // namespace rldb::runtime
