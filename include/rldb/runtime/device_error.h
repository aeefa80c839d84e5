// Copies from a device that failed when nobody could be told: a tensor's bytes are fetched where they are read. The
// next call of a kernel, or the end of the run, reports the first one. Used by the rooms that run kernels on a device.
#pragma once

#include <optional>

#include "rldb/runtime/error.h"

namespace rldb::runtime {

void note_device_error(Error error);
std::optional<Error> take_device_error();

}  // namespace rldb::runtime
