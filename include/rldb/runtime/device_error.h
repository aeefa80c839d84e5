// Copies from a device that failed when nobody could be told: a tensor's bytes are fetched where they are read. Whoever
// reads on somebody's behalf calls `read_back` first; the first of the other errors is reported by the next call of a
// kernel, or the end of the run. A run starts without those of others.
//
// A storage whose copy failed is lost to the host: the device still has its bytes, and the next read tries again.
// Used by the rooms that run kernels on a device, session.
#pragma once

#include <optional>

#include "rldb/runtime/error.h"
#include "rldb/runtime/value.h"

namespace rldb::runtime {

void note_device_error(Error error);
std::optional<Error> take_device_error();

// Fetches the bytes, of the tensors in a tuple, too. An Error is why one has not come, and is not noted any more.
Result<support::Unit> read_back(const Storage& storage);
Result<support::Unit> read_back(const Value& v);

}  // namespace rldb::runtime
