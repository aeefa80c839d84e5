// Bytes compressed by Zstandard, in a frame with its size and a checksum. Users: recorded runs.
#pragma once

#include <string>
#include <string_view>

#include "rldb/runtime/error.h"

namespace rldb::runtime {

std::string compress(std::string_view bytes);
// Exactly one frame. Errors, in the memory that its contents take: it is damaged or cut off, bytes follow it, or its
// contents are larger than `limit` or than it says.
Result<std::string> decompress(std::string_view frame, std::size_t limit);

}  // namespace rldb::runtime
